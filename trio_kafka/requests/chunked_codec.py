"""Large requests and responses, decoded and encoded in steps of some 10 µs.

A response of more than KEPT_BYTES is not kept: its bytes are counted, and encoded again while the
socket takes them. Items that are created while they are written are created twice then, and must be
as long the second time.
"""

from collections.abc import Iterator
from itertools import repeat
from typing import Any, Final, TypeVar, cast

from trio_kafka.protocol.compiler import (
    counting_encoder_in_steps,
    decoder_in_steps,
    encoder_in_steps,
)
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.schema import fields_of
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.wire.frame import Frame
from trio_kafka.wire.server import joined
from trio_kafka.wire.streamed import StreamedBody

T = TypeVar("T")

LARGE: Final = 64 << 10  # bytes; a larger message is decoded in steps
# Array items of one request: two and a half for each of 100,000 partitions. The limit bounds memory
# and the time in which all of them are freed.
MAX_ITEMS: Final = 250_000
_ITEMS_PER_STEP: Final = 16
_MAX_PIECES: Final = 2000  # pieces of an encoded message before they are joined
KEPT_BYTES: Final = 4 << 20  # of an encoded response
_PIECE_BYTES: Final = 32 << 10  # encoded at once while a response is sent, ...
_PIECE_STEPS: Final = 1000  # ... and its steps: 0.5 ms


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
    message: object, version: int, counts: dict[int, int] | None = None, *, streams: bool = False
) -> Steps[list[Any]]:
    """Encode a message and return its segments, joined where that is cheap. Raises EncodeError.

    streams: a message of more than KEPT_BYTES that can hold no records becomes one StreamedBody. It
        must not change any more.
    counts: a `defaultdict(int)` that receives the number of each error code, if given.
    A caller that gives up releases the file ranges of the message itself.
    """
    segments: list[object] = []
    pieces: list[Any] = []
    size, is_kept = 0, True
    streams = streams and not _has_records(type(message))
    if counts is None:
        steps = encoder_in_steps(type(message), version)(message, pieces.append)
    else:
        encode = counting_encoder_in_steps(type(message), version)
        steps = encode(message, pieces.append, counts)
    for _ in merged_steps(steps):
        if len(pieces) > _MAX_PIECES:
            size += sum(map(len, pieces))
            if streams and is_kept and size > KEPT_BYTES:
                is_kept = False
                segments.clear()
            if is_kept:
                segments += joined(pieces)
            pieces.clear()
        yield
    if is_kept:
        segments += joined(pieces)
        return segments
    size += sum(map(len, pieces))
    return [StreamedBody(_encoded_pieces(message, version), size)]


def _encoded_pieces(message: object, version: int) -> Iterator[bytes]:
    """Encode a message, and yield its bytes in pieces of about _PIECE_BYTES."""
    pieces: list[bytes] = []
    steps = encoder_in_steps(type(message), version)(message, pieces.append)
    waiting = 0
    for _ in merged_steps(steps):
        waiting += _ITEMS_PER_STEP
        if waiting >= _PIECE_STEPS or sum(map(len, pieces)) >= _PIECE_BYTES:
            yield b"".join(pieces)
            pieces.clear()
            waiting = 0
    if pieces:
        yield b"".join(pieces)


def _has_records(cls: type[object]) -> bool:
    """Return whether messages of a class can hold records, whose file ranges are sent once."""
    return any(
        field.kind == "records" or (part is not None and _has_records(part))
        for field in fields_of(cls)
        for part in (field.of.struct if field.of is not None else field.struct,)
    )
