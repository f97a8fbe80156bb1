"""Principal: the identity behind a connection or a request, written as `User:alice`."""

from typing import Final

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.config.authorizer import split_principal

USER: Final = "User"


@frozen
class Principal:
    """Type and name of an identity. The type is `USER` for all clients of Kafka.

    token_authenticated: by a delegation token, which allows less (KIP-48); two principals are equal
        all the same.
    text: as it is written.
    """

    type: str
    name: str
    token_authenticated: bool = field(default=False, eq=False, kw_only=True)
    text: str = field(init=False, eq=False, repr=False)

    @text.default
    def _write(self) -> str:
        return f"{self.type}:{self.name}"

    def __str__(self) -> str:
        return self.text


NOBODY: Final = Principal(USER, "ANONYMOUS")
"""Principal of a connection that has not authenticated."""
ANONYMOUS: Final = str(NOBODY)
BROKER: Final = Principal("Broker", "in-process")
"""Principal of what the broker does for itself: of jobs, and of plugins that name no other one.

No client can have it, as clients are of the type `USER`.
"""


def parse_principal(text: str) -> Principal:
    """Return the principal written as `type:name`. Raises ValueError."""
    return Principal(*split_principal(text))
