"""Range of a file as part of an answer: leased, not read."""

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.world.protocols import Lease


@define(eq=False)
class FileRange:
    """Range of `left` bytes from `position` on of a leased file. Sending updates both; release it
    then.

    It is used where an encoder takes bytes: it has a length, and is read only when the socket sends
        it.
    """

    lease: Lease = field(repr=False)
    position: int
    left: int

    def __len__(self) -> int:
        return self.left

    def __bool__(self) -> bool:
        """Return True, even for an empty or sent range."""
        return True

    def release(self) -> None:
        """Release the lease. Idempotent, as the lease is."""
        self.lease.release()
