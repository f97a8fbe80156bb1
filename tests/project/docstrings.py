"""Entries of a page of reference: a class or function with its signature and docstring."""

import inspect
from collections.abc import Collection, Generator, Iterator
from typing import Final, get_args, get_origin

_SHOWN: Final = (type(None), bool, int, float, str, tuple, type)  # `Parameter.empty` is a type


class _Other:
    """Default value that a reader need not see."""

    def __repr__(self) -> str:
        return "..."


def entry(name: str, value: object, *, hidden: Collection[str] = ()) -> Iterator[str]:
    """Yield the lines of a class with its methods, or of a function.

    hidden: names of methods for other parts of the package.
    """
    yield f"\n## {name}\n"
    if not isinstance(value, type):
        yield f"```python notrun\n{name}{signature_of(value)}\n```\n"
    yield text_of(value)
    if not isinstance(value, type):
        return
    fields = [name for name in inspect.get_annotations(value) if name[0] != "_"]
    if fields and not methods_of(value, hidden):
        yield "\nFields: " + ", ".join(f"`{name}`" for name in fields) + "."
    for method, member in methods_of(value, hidden):
        yield f"\n### {name}.{method}\n"
        if isinstance(member, property):
            yield text_of(member)
        else:
            prefix = "async " if inspect.iscoroutinefunction(member) else ""
            yield f"```python notrun\n{prefix}{method}{signature_of(member)}\n```\n"
            yield text_of(member)


def methods_of(kind: type, hidden: Collection[str] = ()) -> list[tuple[str, object]]:
    """Return public methods and properties with docstrings, in the order of the source.

    Those of a base of our own come last.
    """
    bases = [base for base in kind.__mro__ if base.__module__.startswith("trio_kafka.")]
    return [
        (name, member)
        for base in bases
        for name, member in vars(base).items()
        if name[0] != "_"
        and name not in hidden
        and (inspect.isfunction(member) or isinstance(member, property))
        and member.__doc__
    ]


def signature_of(function: object) -> str:
    """Return parameters without the class names' modules."""
    assert callable(function)
    signature = inspect.signature(function)
    parameters = [
        p if isinstance(p.default, _SHOWN) else p.replace(default=_Other())
        for p in signature.parameters.values()
        if p.name != "self"
    ]
    result = signature.return_annotation
    if get_origin(result) is Generator:  # a plan
        result = get_args(result)[-1]
    signature = signature.replace(parameters=parameters, return_annotation=result)
    text = str(signature).replace("~", "").replace("'", "")
    for module in ("collections.abc.", "contextlib.", "typing."):
        text = text.replace(module, "")
    parts = text.split("trio_kafka.")
    return parts[0] + "".join(_without_module(part) for part in parts[1:])


def _without_module(text: str) -> str:
    """Return a text that begins with the dotted name of a class, with its last part only."""
    name = next((n for n, c in enumerate(text) if not (c.isalnum() or c in "._")), len(text))
    return text[:name].rpartition(".")[2] + text[name:]


def text_of(value: object) -> str:
    return inspect.cleandoc(value.__doc__ or "").replace("|", "\\|")
