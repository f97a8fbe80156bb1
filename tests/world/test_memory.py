import resource
from pathlib import Path

import pytest

from trio_kafka.world.memory import discard, new_buffer

MIB = 1 << 20


def own_resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def test_discarded_memory_goes_back_while_a_view_is_left() -> None:
    before = own_resident_bytes()
    buffer = new_buffer(64 * MIB)
    kept = buffer[5:10]
    buffer[:] = b"\1" * len(buffer)
    assert own_resident_bytes() - before > 60 * MIB

    discard(buffer)

    assert own_resident_bytes() - before < 8 * MIB
    assert bytes(kept) == bytes(5)


def test_a_buffer_is_writable_and_zero_and_costs_when_it_is_written() -> None:
    before = own_resident_bytes()
    buffer = new_buffer(256 * MIB)

    assert len(buffer) == 256 * MIB
    assert bytes(buffer[:100]) == bytes(100)
    buffer[-1] = 7
    assert buffer[-1] == 7
    assert own_resident_bytes() - before < 32 * MIB
    assert len(new_buffer(0)) == 0


def test_memory_of_another_kind_is_not_discarded() -> None:
    with pytest.raises(TypeError, match="bytearray"):
        discard(memoryview(bytearray(10)))
