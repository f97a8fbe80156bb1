"""Memory of the answers that the gateway makes and sends: one bound for all of them.

A record becomes objects of Python, which take many times its bytes, and a client that reads slowly
keeps an answer for long. Each answer may have one record beyond the bound, so that every client
goes on; with more it ends early, and the client asks for the next ones.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.tree import Figures
from trio_kafka.records.batch import Record

_MOST: Final = 256 << 20
_ROW: Final = 1000  # bytes of a record without its texts
_HEADER: Final = 400
_OF_JSON: Final = 25  # bytes of objects for each byte of JSON, such as `[[],[],[]]`
_OF_TEXT: Final = 3


@define(eq=False)
class AnswerMemory:
    """Memory of all answers. most, taken: bytes, estimated."""

    most: int = _MOST
    taken: int = field(default=0, init=False)

    @contextmanager
    def share(self) -> Iterator["AnswerShare"]:
        """Give one answer its share, until it is sent."""
        share = AnswerShare(self)
        try:
            yield share
        finally:
            self.taken -= share.taken

    def figures(self) -> Figures:
        """Return figures for the tree."""
        return {"bytes": self.taken, "bound": self.most}


@define(eq=False)
class AnswerShare:
    """Share of one answer. taken: bytes."""

    memory: AnswerMemory
    taken: int = field(default=0, init=False)

    def take(self, record: Record, format_: str) -> bool:
        """Take what a record needs; False: the answer must end before it."""
        size = _size_of(record, format_)
        if self.taken and self.memory.taken + size > self.memory.most:
            return False
        self.taken += size
        self.memory.taken += size
        return True


def _size_of(record: Record, format_: str) -> int:
    texts = len(record.key or b"") + len(record.value or b"")
    size = _ROW + texts * (_OF_JSON if format_ == "json" else _OF_TEXT)
    for _, value in record.headers:
        size += _HEADER + _OF_TEXT * len(value or b"")
    return size
