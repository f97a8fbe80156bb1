"""Bytes of a file as part of an answer: a promise, kept by a lease, that nobody has read yet."""

from trio_kafka.world.protocols import Lease


class FileRange:
    """`left` bytes of the leased file from `position` on; who sends them moves both and releases.

    Stands wherever an encoder takes bytes: it has a length, and is made real only as the socket
    takes it.
    """

    __slots__ = ("lease", "left", "position")

    def __init__(self, lease: Lease, position: int, left: int) -> None:
        self.lease = lease
        self.position = position
        self.left = left

    def __len__(self) -> int:
        return self.left

    def __bool__(self) -> bool:
        """A range is there also when it is empty or sent."""
        return True

    def __repr__(self) -> str:
        return f"FileRange(position={self.position}, left={self.left})"

    def release(self) -> None:
        """Give the lease back. Idempotent, as the lease is."""
        self.lease.release()
