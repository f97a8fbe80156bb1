"""Protocol of the running broker that the parts of the test kit use."""

from typing import Final, Protocol

from trio_kafka.requests.parts import Parts

KIT_CLIENT: Final = "trio-kafka-testing"
"""Client id of the test kit's own requests. Fault rules and recordings leave them out unless they
name it."""


class HasParts(Protocol):
    """Running broker, a harness, or the context of a plugin."""

    @property
    def parts(self) -> Parts: ...
