"""Values as source of Python. Text that clients chose becomes a literal, and is no code."""

from collections.abc import Mapping, Sequence
from typing import Final

KAFKA: Final = "kafka.bootstrap"


def literal(value: object) -> str:
    """Return a value as source, texts in double quotes where that needs no escape.

    Unprintable characters are escaped, so that the source reads as what it is.
    """
    if isinstance(value, str):
        source = repr(value)
        return f'"{source[1:-1]}"' if source[0] == "'" and '"' not in source else source
    if isinstance(value, Mapping):
        pairs = (f"{literal(name)}: {literal(item)}" for name, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, Sequence):
        return f"[{', '.join(map(literal, value))}]"
    return repr(value)


def client(variable: str, kind: str, settings: Mapping[str, object]) -> list[str]:
    """Return the lines that make a client of the broker `kafka`, with its settings."""
    return [
        f"{variable} = {kind}(",
        "    {",
        f'        "bootstrap.servers": {KAFKA},',
        *(f"        {literal(name)}: {literal(value)}," for name, value in settings.items()),
        "    }",
        ")",
    ]
