"""Whether a message is too large to be encoded in one go, told by the items of its arrays.

Counts items of structs and strings, two levels deep, and three levels deep where the items say
errors: where messages grow. What is not a list is made while it is written, and counts as large.
"""

from collections.abc import Callable
from typing import Any, Final

from trio_kafka.protocol.fields import FIXED
from trio_kafka.protocol.schema import fields_of

MANY: Final = 500  # items: some 0.5 ms


def weigher(cls: type[Any]) -> Callable[[Any], bool]:
    """A function that says of messages of the class whether they have more than MANY items.

    Generated, as it is asked of every answer: 0.1 µs where there are few.
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
    exec("\n".join(lines), names)  # noqa: S102 - made of declared tables alone
    is_large: Callable[[Any], bool] = names["is_large"]
    return is_large


def _arrays(cls: type[Any]) -> list[tuple[str, list[tuple[str, list[str]]]]]:
    """The arrays of a struct whose items are no numbers; those of their items, and of theirs."""
    return [
        (name, [(inner, _answers(one)) for inner, one in _own(part)]) for name, part in _own(cls)
    ]


def _answers(cls: type[Any] | None) -> list[str]:
    """The arrays of a struct whose items each answer something that was asked: they say errors."""
    return [
        name
        for name, part in _own(cls)
        if part and any(field.name == "error_code" for field in fields_of(part))
    ]


def _own(cls: type[Any] | None) -> list[tuple[str, type[Any] | None]]:
    """The arrays of a struct itself whose items are no numbers, with the structs in them."""
    return [
        (field.name, field.of.struct)
        for field in (() if cls is None else fields_of(cls))
        if field.kind == "array" and field.of is not None and field.of.kind not in FIXED
    ]
