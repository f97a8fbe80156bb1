"""Range of a file as part of an answer: leased, not read."""

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.world.protocols import Lease


@define(eq=False)
class FileRange:
    """Range of a leased file: `remaining` bytes from `position` on.

    An encoder takes it in the place of bytes, as it has a length. It is read only when the socket
    sends it. Sending updates `position` and `remaining`; the sender releases the range afterwards.

    cached_to: position up to which a thread has just read the file; 0: none has.
    """

    lease: Lease = field(repr=False)
    position: int
    remaining: int
    cached_to: int = field(default=0, init=False, repr=False)

    def __len__(self) -> int:
        return self.remaining

    def __bool__(self) -> bool:
        """Return True, even for an empty or sent range."""
        return True

    def release(self) -> None:
        """Release the lease. Idempotent, as the lease is."""
        self.lease.release()
