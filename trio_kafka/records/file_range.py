"""Range of a file as part of an answer: leased, not read."""

from trio_kafka.world.protocols import Lease


class FileRange:
    """Range of `left` bytes from `position` on of a leased file. Sending updates both; release it
    then.

    It is used where an encoder takes bytes: it has a length, and is read only when the socket sends
        it.
    """

    __slots__ = ("lease", "left", "position")

    def __init__(self, lease: Lease, position: int, left: int) -> None:
        self.lease = lease
        self.position = position
        self.left = left

    def __len__(self) -> int:
        return self.left

    def __bool__(self) -> bool:
        """Return True, even for an empty or sent range."""
        return True

    def __repr__(self) -> str:
        return f"FileRange(position={self.position}, left={self.left})"

    def release(self) -> None:
        """Release the lease. Idempotent, as the lease is."""
        self.lease.release()
