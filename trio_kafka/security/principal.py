"""Principal: the identity behind a connection or a request, written as `User:alice`."""

from typing import Final

from attrs import field

from trio_kafka.attributes import frozen

USER: Final = "User"


@frozen
class Principal:
    """Type and name of an identity. The type is `USER` for all clients of Kafka.

    text: as it is written.
    """

    type: str
    name: str
    text: str = field(init=False, eq=False, repr=False)

    @text.default
    def _write(self) -> str:
        return f"{self.type}:{self.name}"

    def __str__(self) -> str:
        return self.text


NOBODY: Final = Principal(USER, "ANONYMOUS")
"""Principal of a connection that has not authenticated."""
ANONYMOUS: Final = str(NOBODY)


def parse_principal(text: str) -> Principal:
    """Return the principal written as `type:name`. Raises ValueError."""
    kind, colon, name = text.partition(":")
    if not (kind and colon and name):
        raise ValueError(f"principal {text!r}: expected type:name, for example User:alice")
    return Principal(kind, name)
