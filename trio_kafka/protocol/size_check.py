"""Size check that tells if a message is too large to be encoded at once.

Counts array items of structs and strings two levels deep, and three levels deep where the items
carry error codes, because those messages grow. A lazy array (not a list) counts as large: its items
are created while it is written.
"""

from collections.abc import Callable
from typing import Any, Final

from trio_kafka.protocol.fields import FIXED
from trio_kafka.protocol.schema import fields_of

MANY: Final = 500  # items: about 0.5 ms


def size_check(cls: type[Any]) -> Callable[[Any], bool]:
    """Return a function that tells if a message of this class has more than MANY items.

    The function is generated, because it runs on every response: 0.1 µs for a small one.
    """
    lines = ["def is_large(message):", " n = 0"]
    for name, inner in _arrays(cls):
        lines += [
            f" items = message.{name}",
            " if items:",
            "  n += len(items)",
            f"  if n > {MANY} or type(items) is not list:",
            "   return True",
        ]
        for one, innermost in inner:
            lines.append(f"  for item in items: n += len(item.{one} or ())")
            if innermost:
                counts = " + ".join(f"len(each.{name} or ())" for name in innermost)
                lines += [
                    f"  for item in items if n <= {MANY} else ():",
                    f"   if type(item.{one}) is list:",
                    f"    for each in item.{one}: n += {counts}",
                ]
    lines.append(f" return n > {MANY}")
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)  # noqa: S102 - generated from declared tables only
    is_large: Callable[[Any], bool] = names["is_large"]
    return is_large


def _arrays(cls: type[Any]) -> list[tuple[str, list[tuple[str, list[str]]]]]:
    """Return a struct's arrays of structs and strings, two levels down."""
    return [
        (name, [(inner, _arrays_with_errors(one)) for inner, one in _own_arrays(part)])
        for name, part in _own_arrays(cls)
    ]


def _arrays_with_errors(cls: type[Any] | None) -> list[str]:
    """Return a struct's arrays whose items carry an error code."""
    return [
        name
        for name, part in _own_arrays(cls)
        if part and any(field.name == "error_code" for field in fields_of(part))
    ]


def _own_arrays(cls: type[Any] | None) -> list[tuple[str, type[Any] | None]]:
    """Return a struct's own arrays of structs and strings, each with its struct class."""
    return [
        (field.name, field.of.struct)
        for field in (() if cls is None else fields_of(cls))
        if field.kind == "array" and field.of is not None and field.of.kind not in FIXED
    ]
