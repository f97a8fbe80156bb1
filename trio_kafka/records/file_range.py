"""Range of a file as part of an answer: leased, not read."""

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.world.protocols import Lease


@define(eq=False)
class FileRange:
    """Range of a leased file: `left` bytes from `position` on.

    An encoder takes it in the place of bytes, as it has a length. It is read only when the socket
    sends it. Sending updates `position` and `left`; the sender releases the range afterwards.
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
