"""Decoding of bytes that members of a group sent, in bounded time.

A request bounds them by size alone: a mebibyte holds half a million empty names.
"""

from functools import cache
from typing import Any, Final, TypeVar

from trio_kafka.protocol.compiler import Decode, decoder, decoder_in_steps
from trio_kafka.protocol.errors import DecodeError

T = TypeVar("T")
SMALL: Final = 64 << 10  # bytes decoded without counting: 32,000 items at most
MOST_ITEMS: Final = 100_000  # names of topics, mostly: 30 ms


def decode(cls: type[T], version: int, data: bytes, position: int) -> T:
    """Decode the message at `position`. Raises DecodeError, also for more than MOST_ITEMS items."""
    if len(data) <= SMALL:
        small: T
        small, _ = _decoder(cls, version)(data, position)  # type: ignore[arg-type]  # is hashable
        return small
    steps = decoder_in_steps(cls, version)(memoryview(data), position)
    try:
        for _ in range(MOST_ITEMS):
            next(steps)
    except StopIteration as end:
        message: T = end.value[0]
        return message
    finally:
        steps.close()
    raise DecodeError(f"{cls.__name__}: more than {MOST_ITEMS} items")


@cache
def _decoder(cls: type, version: int) -> Decode[Any]:
    """Return the decoder, which each member that joins needs."""
    return decoder(cls, version)
