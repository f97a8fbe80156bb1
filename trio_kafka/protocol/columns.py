"""Arrays of structs that are kept as columns, and are encoded without an object for each row.

For an answer with thousands of rows of int64 fields: encoded by stride copies, a row costs 30 ns
instead of 1 µs. A field takes them if it is declared with `columns=True`.
"""

import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Generic, TypeVar

T = TypeVar("T")
_PIECE: Final = 16_384  # rows: 0.5 ms
_INT64: Final = 8


class Columns(Generic[T]):
    """Rows of int64 fields, in their order on the wire; may stand for a list of structs that is
    only encoded or iterated.
    """

    __slots__ = ("_columns", "_make")

    def __init__(self, make: Callable[..., T], columns: "Sequence[array[int]]") -> None:
        """make: the struct. columns: values of its fields, all of type "q" and one length."""
        self._make = make
        self._columns = columns

    def __len__(self) -> int:
        return len(self._columns[0])

    def __iter__(self) -> Iterator[T]:
        return map(self._make, *self._columns)

    def pieces(self, *, flexible: bool) -> Iterator[bytes]:
        """Yield the encoded rows. flexible: each ends with a count of no tagged fields."""
        count = len(self._columns)
        for begin in range(0, len(self), _PIECE):
            columns = [column[begin : begin + _PIECE] for column in self._columns]
            rows = array("q", bytes(_INT64 * count * len(columns[0])))
            for number, column in enumerate(columns):
                rows[number::count] = column
            if sys.byteorder == "little":
                rows.byteswap()
            yield _with_tags(rows.tobytes(), _INT64 * count) if flexible else rows.tobytes()


def _with_tags(rows: bytes, size: int) -> bytes:
    """Return rows of `size` bytes, each followed by a zero."""
    tagged = bytearray(len(rows) // size * (size + 1))
    for at in range(size):
        tagged[at :: size + 1] = rows[at::size]
    return bytes(tagged)
