"""Size check that tells if a message is too large to be encoded at once.

Counts the items of all arrays of structs and strings, at any depth. A lazy array (not a list)
counts as large: its items are created while it is written. Rows in `Columns` cost a 32nd.
"""

from collections.abc import Callable, Iterator
from typing import Final, cast

from trio_kafka.protocol.columns import Columns
from trio_kafka.protocol.fields import FIXED
from trio_kafka.protocol.schema import fields_of

MANY: Final = 500  # items: about 0.5 ms
_COLUMNS_SHIFT: Final = 5


def size_check(cls: type[object]) -> Callable[[object], bool]:
    """Return a function that tells if a message of this class has more than MANY items.

    The function is generated, because it runs on every response: 0.1 µs for a small one.
    """
    lines = ["def is_large(message):", " n = 0", *_counting(cls, "message", 1), " return False"]
    names: dict[str, object] = {"Columns": Columns}
    exec("\n".join(lines), names)  # noqa: S102 - generated from declared tables only
    return cast("Callable[[object], bool]", names["is_large"])


def _counting(cls: type[object], owner: str, depth: int) -> Iterator[str]:
    """Yield the lines that count the arrays of one struct, and of the structs in it."""
    indent = " " * depth
    for field in fields_of(cls):
        if field.kind == "struct" and field.struct is not None:
            inner = f"part{depth}"
            lines = list(_counting(field.struct, inner, depth + 1))
            if lines:
                yield f"{indent}{inner} = {owner}.{field.name}"
                yield f"{indent}if {inner} is not None:"
                yield from lines
        elif field.kind == "array" and field.of is not None and field.of.kind not in FIXED:
            items, item = f"items{depth}", f"item{depth}"
            yield f"{indent}{items} = {owner}.{field.name}"
            yield f"{indent}if {items}:"
            if field.columns:
                yield f"{indent} columns = type({items}) is Columns"
                yield f"{indent} n += len({items}) >> {_COLUMNS_SHIFT} if columns else len({items})"
                yield f"{indent} if n > {MANY} or not columns and type({items}) is not list:"
            else:
                yield f"{indent} n += len({items})"
                yield f"{indent} if n > {MANY} or type({items}) is not list:"
            yield f"{indent}  return True"
            if field.of.struct is not None:
                lines = list(_counting(field.of.struct, item, depth + 2))
                if lines:
                    yield f"{indent} for {item} in {items}:"
                    yield from lines
