"""Body of an answer that is encoded while the socket takes it.

The length of an answer is sent first, so it is encoded twice: once to count its bytes, which are
discarded, and once to send them. That costs time, and bounds the memory of an answer of any size.
"""

from collections.abc import Iterator


class BodyChangedError(Exception):
    """The second encoding differs from the first, or failed: reset the connection."""


class StreamedBody:
    """Segment of `remaining` bytes, made piece by piece. A part of an answer, as a FileRange is.

    pieces: encodes the body; yields its bytes in pieces, none of them empty.
    """

    __slots__ = ("_pieces", "remaining")

    def __init__(self, pieces: Iterator[bytes], size: int) -> None:
        self._pieces = pieces
        self.remaining = size

    def __len__(self) -> int:
        return self.remaining

    def __bool__(self) -> bool:
        """Return True, even if all was sent."""
        return True

    def next_piece(self) -> bytes:
        """Encode and return the next piece; b"" after the last. Raises BodyChangedError."""
        try:
            piece = next(self._pieces, b"")
        except Exception as error:
            raise BodyChangedError(f"encoding the rest failed: {error!r}") from error
        self.remaining -= len(piece)
        if self.remaining < 0 or (self.remaining and not piece):
            raise BodyChangedError(
                f"{self.remaining} bytes left at the end of an answer: expected 0"
            )
        return piece

    def __iter__(self) -> Iterator[bytes]:
        """Yield the pieces, for readers that want the whole. Raises BodyChangedError."""
        while piece := self.next_piece():
            yield piece

    def release(self) -> None:
        """Discard the rest. Idempotent."""
        self._pieces, self.remaining = iter(()), 0
