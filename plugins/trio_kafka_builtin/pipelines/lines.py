"""Last output lines of a child, bounded in length and number."""

from collections import deque
from typing import Final

from trio_kafka.protocol.texts import printable

LONGEST: Final = 500  # characters of a line; the rest is dropped


class Lines:
    """Line buffer: bytes in, lines out. most: number of lines kept."""

    def __init__(self, most: int) -> None:
        self.count = 0
        self._kept: deque[str] = deque(maxlen=most)
        self._begun = b""

    def feed(self, data: bytes) -> None:
        """Add bytes that were read."""
        *whole, rest = data.split(b"\n")
        for piece in whole:
            self._add(piece)
            self._end()
        self._add(rest)

    def end(self) -> None:
        """Finish an incomplete line after the child has ended."""
        if self._begun:
            self._end()

    def say(self, words: str) -> None:
        """Add a line of the broker itself."""
        self.end()
        self.feed(f"[trio-kafka] {words}\n".encode())

    def last(self, most: int) -> list[str]:
        """Return the last lines, oldest first, including an incomplete one."""
        begun = [_text(self._begun)] if self._begun else []
        return [*self._kept, *begun][-most:]

    def _add(self, piece: bytes) -> None:
        self._begun = (self._begun + piece[: 4 * LONGEST])[: 4 * LONGEST]

    def _end(self) -> None:
        self._kept.append(_text(self._begun))
        self._begun = b""
        self.count += 1


def _text(line: bytes) -> str:
    text = line.decode(errors="replace").rstrip("\r").expandtabs()
    return printable(text if len(text) <= LONGEST else f"{text[:LONGEST]} …")
