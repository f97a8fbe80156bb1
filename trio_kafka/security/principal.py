"""Who asks: a type and a name, written as `User:alice`."""

from typing import Final

from trio_kafka.attributes import frozen

USER: Final = "User"


@frozen
class Principal:
    """type: nearly always USER."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


NOBODY: Final = Principal(USER, "ANONYMOUS")  # on a connection that proves nothing
ANONYMOUS: Final = str(NOBODY)
