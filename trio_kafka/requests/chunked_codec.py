"""Large requests and responses, decoded and encoded in steps of some 10 µs."""

from itertools import repeat
from typing import Any, Final, TypeVar, cast

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

LARGE: Final = 64 << 10  # bytes; a larger message is decoded in steps
# Array items of one request: two and a half for each of 100,000 partitions. The limit bounds memory
# and the time in which all of them are freed.
MAX_ITEMS: Final = 250_000
_ITEMS_PER_STEP: Final = 16
_MAX_PIECES: Final = 2000  # pieces of an encoded message before they are joined


def merged_steps(steps: Steps[T], count: int = _ITEMS_PER_STEP) -> Steps[T]:
    """Merge each `count` steps into one."""
    try:
        while True:
            for _ in repeat(None, count):
                next(steps)
            yield
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]  # the generator's own result
    finally:
        steps.close()


def decode_in_steps(cls: type[T], version: int, frame: Frame, position: int) -> Steps[T]:
    """Decode the request at `position`. Raises DecodeError, also for more than MAX_ITEMS items."""
    steps = merged_steps(decoder_in_steps(cls, version)(frame, position))
    try:
        for _ in range(MAX_ITEMS // _ITEMS_PER_STEP):
            next(steps)
            yield
    except StopIteration as end:
        message, _ = end.value
        return cast("T", message)
    finally:
        steps.close()
    raise DecodeError(f"{cls.__name__}: more than {MAX_ITEMS} array items")


def encode_in_steps(
    message: Any, version: int, counts: dict[int, int] | None = None
) -> Steps[list[Any]]:
    """Encode a message and return its segments, joined where that is cheap. Raises EncodeError.

    counts: a `defaultdict(int)` that receives the number of each error code, if given.
    A caller that gives up releases the file ranges of the message itself.
    """
    segments: list[Any] = []
    pieces: list[Any] = []
    if counts is None:
        steps = encoder_in_steps(type(message), version)(message, pieces.append)
    else:
        encode = counting_encoder_in_steps(type(message), version)
        steps = encode(message, pieces.append, counts)
    for _ in merged_steps(steps):
        if len(pieces) > _MAX_PIECES:
            segments += joined(pieces)
            pieces.clear()
        yield
    segments += joined(pieces)
    return segments
