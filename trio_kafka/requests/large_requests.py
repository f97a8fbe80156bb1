"""Work on a request that is too much for one go, in steps of some 10 µs."""

from collections.abc import Callable, Iterable, Iterator, Sized
from itertools import repeat
from typing import Any, Final, Generic, Protocol, TypeVar, cast

from trio_kafka.attributes import define, frozen
from trio_kafka.protocol.compiler import (
    counting_encoder_in_steps,
    decoder_in_steps,
    encoder_in_steps,
)
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.wire.frame import Frame
from trio_kafka.wire.server import joined

T = TypeVar("T")
S = TypeVar("S")
T_co = TypeVar("T_co", covariant=True)

LARGE: Final = 64 << 10  # bytes of a request that is read in steps
_ITEMS: Final = 16  # of an array, in one step
# Items of one request, in all of its arrays: two and a half for each of 100,000 partitions. They
# bound memory, and the time in which all of them are freed at once.
MOST_ITEMS: Final = 250_000
_AT_ONCE: Final = 100  # rows of an answer: 0.3 ms
_PIECES: Final = 2000  # that are joined when they are so many


def coarse(fine: Steps[T], items: int = _ITEMS) -> Steps[T]:
    """The same work in fewer steps."""
    try:
        while True:
            for _ in repeat(None, items):
                next(fine)
            yield
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]  # as the generator gave it
    finally:
        fine.close()


def decode_in_steps(cls: type[T], version: int, frame: Frame, position: int) -> Steps[T]:
    """The request at `position`. Raises DecodeError, also for more than MOST_ITEMS items."""
    steps = coarse(decoder_in_steps(cls, version)(frame, position))
    try:
        for _ in range(MOST_ITEMS // _ITEMS):
            next(steps)
            yield
    except StopIteration as end:
        message, _ = end.value
        return cast("T", message)
    finally:
        steps.close()
    raise DecodeError(f"{cls.__name__}: more than {MOST_ITEMS} items")


def encode_in_steps(
    message: Any, version: int, counts: dict[int, int] | None = None
) -> Steps[list[Any]]:
    """The segments of a message, as few as is cheap. Raises EncodeError.

    counts: a `defaultdict(int)` in which its error codes are counted, if they are wanted.
    Whoever gives up half way has to release what stands in the message, not here.
    """
    parts: list[Any] = []
    pieces: list[Any] = []
    if counts is None:
        steps = encoder_in_steps(type(message), version)(message, pieces.append)
    else:
        encode = counting_encoder_in_steps(type(message), version)
        steps = encode(message, pieces.append, counts)
    for _ in coarse(steps):
        if len(pieces) > _PIECES:
            parts += joined(pieces)
            pieces.clear()
        yield
    parts += joined(pieces)
    return parts


@define
class Lazies:
    """made: how many arrays of `lazily` there were so far, for those who cannot read one and do not
    want to search every answer for it.
    """

    made: int = 0


LAZY: Final = Lazies()  # of an instance, as a class is asked four times as slowly


class Items(Sized, Iterable[T_co], Protocol[T_co]):
    """What can be counted and walked."""


def lazily(items: Items[S], make: Callable[[S], T]) -> list[T]:
    """An array of an answer whose items are made when they are written: `make` of each of `items`.

    For answers of many items: building and writing them is sliced alike, and all of them are never
    in memory at once. Only good for being written; `items` must not change meanwhile.
    """
    LAZY.made += 1
    return cast("list[T]", Lazily(items, make))


def rows_of(items: Items[S], make: Callable[[S], T]) -> list[T]:
    """An array of an answer: made now where there are few items, else `lazily`."""
    return [make(one) for one in items] if len(items) <= _AT_ONCE else lazily(items, make)


@frozen
class Lazily(Generic[S, T]):
    """An array of `lazily`."""

    _items: Items[S]
    _make: Callable[[S], T]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return map(self._make, self._items)
