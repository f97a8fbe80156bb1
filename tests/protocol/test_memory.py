"""No lie about a length or a count costs more memory than the bytes that came with it are worth."""

import gc
import tracemalloc
from typing import Any

import pytest

from tests.protocol.declared import classes
from trio_kafka.protocol.compiler import decoder, to_bytes
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.fields import Field
from trio_kafka.protocol.schema import fields_of, message_of
from trio_kafka.protocol.versions import covers

# Lengths and counts of four bytes and as varints, the largest there are and some thousands.
LIES = [bytes.fromhex(lie) for lie in ("7fffffff", "00000fff", "ffffffff0f", "ff1f")]
PLACES = 200  # of one message, at the most
# What a message costs: its objects and, where it is none, the error. And what a byte of it may be:
# the beginning of an empty struct of some fields.
MESSAGE, BYTE = 8192, 100
SAMPLES = {"string": "name", "bytes": b"bytes", "records": b"records", "uuid": bytes(range(16))}


def one_of(field: Field, version: int) -> Any:
    """A value that is not null, with one item in every array."""
    if field.kind == "array":
        return [one_of(field.item, version)]
    if field.kind == "struct":
        return full(field.part, version)
    return SAMPLES.get(field.kind, 1)


def full(cls: type[Any], version: int) -> Any:
    """An instance of which every field that the version has is there."""
    present = [field for field in fields_of(cls) if covers(field.versions, version)]
    return cls(**{field.name: one_of(field, version) for field in present})


def rigid_and_flexible(cls: type[Any]) -> set[int]:
    """The newest version, and the newest one whose lengths are of a fixed size."""
    message = message_of(cls)
    first, last = message.versions
    return {last, max(first, min(last, message.flexible[0] - 1))}


def peak_of(decode: Any, lies: list[memoryview]) -> int:
    """Bytes that are allocated at most while these are read."""
    gc.disable()  # whatever other tests have left must not be looked at now
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for data in lies:
            try:
                decode(data)
            except DecodeError:
                continue
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
        gc.enable()


@pytest.mark.slow
@pytest.mark.parametrize("cls", classes(), ids=lambda cls: cls.__name__)
def test_a_wrong_length_at_any_position_of_a_message_allocates_little_memory(
    cls: type[Any],
) -> None:
    for version in rigid_and_flexible(cls):
        honest, decode = to_bytes(full(cls, version), version), decoder(cls, version)
        decode(honest)
        lies = [
            memoryview(honest[:at] + lie + honest[at + len(lie) :])
            for at in range(0, len(honest), len(honest) // PLACES + 1)
            for lie in LIES
        ]
        bound = MESSAGE + BYTE * len(honest)

        # Threads of the runner allocate too, now and then: what a lie costs it costs each time.
        assert any(peak_of(decode, lies) < bound for _ in range(3)), (version, len(honest))
