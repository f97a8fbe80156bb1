import resource
from pathlib import Path

import pytest

from trio_kafka.world.memory import discard, new_buffer

MIB = 1 << 20


def own_resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def test_discarded_buffer_returns_its_memory_while_a_view_exists() -> None:
    before = own_resident_bytes()
    buffer = new_buffer(64 * MIB)
    kept = buffer[5:10]
    buffer[:] = b"\1" * len(buffer)
    assert own_resident_bytes() - before > 60 * MIB

    discard(buffer)

    assert own_resident_bytes() - before < 8 * MIB
    assert bytes(kept) == bytes(5)


def test_new_buffer_is_zero_and_takes_memory_only_when_written() -> None:
    before = own_resident_bytes()
    buffer = new_buffer(256 * MIB)

    assert len(buffer) == 256 * MIB
    assert bytes(buffer[:100]) == bytes(100)
    buffer[-1] = 7
    assert buffer[-1] == 7
    assert own_resident_bytes() - before < 32 * MIB
    assert len(new_buffer(0)) == 0


def test_discard_of_a_view_of_other_memory_raises_type_error() -> None:
    with pytest.raises(TypeError, match="bytearray"):
        discard(memoryview(bytearray(10)))
