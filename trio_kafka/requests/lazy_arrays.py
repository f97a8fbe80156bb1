"""Arrays of responses whose items are created while they are encoded.

Creating and encoding many items is sliced alike, and all items are never in memory together.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from typing import Final, Generic, Protocol, TypeVar, cast

from trio_kafka.attributes import define, frozen
from trio_kafka.protocol.columns import Columns

T = TypeVar("T")
S = TypeVar("S")
T_co = TypeVar("T_co", covariant=True)

_MAX_EAGER_ROWS: Final = 100  # 0.3 ms


@define
class LazyArrayCounter:
    """Counter of lazy arrays; `created` changes if a handler may have returned one.

    It saves code that cannot read a lazy array a search of every response.
    """

    created: int = 0


LAZY_ARRAYS: Final = LazyArrayCounter()  # an instance: a class attribute is read four times slower


class Items(Sized, Iterable[T_co], Protocol[T_co]):
    """Items with a length and an iterator."""


def lazily(items: Items[S], make: Callable[[S], T]) -> list[T]:
    """Return an array of a response with `make` of each of `items`, called while it is encoded.

    The array can only be encoded, not indexed. `items` must not change before that.
    """
    LAZY_ARRAYS.created += 1
    return cast("list[T]", LazyArray(items, make))


def in_columns(make: Callable[..., T], columns: "Sequence[array[int]]") -> list[T]:
    """Return an array of a response whose rows are encoded from columns, see `Columns`.

    The array can only be encoded or iterated. The columns must not change before that.
    """
    LAZY_ARRAYS.created += 1
    return cast("list[T]", Columns(make, columns))


def rows_of(items: Items[S], make: Callable[[S], T]) -> list[T]:
    """Return an array of a response: a list if there are few items, else `lazily`."""
    return [make(item) for item in items] if len(items) <= _MAX_EAGER_ROWS else lazily(items, make)


@frozen
class LazyArray(Generic[S, T]):
    """Array that `lazily` returns."""

    _items: Items[S]
    _make: Callable[[S], T]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return map(self._make, self._items)
