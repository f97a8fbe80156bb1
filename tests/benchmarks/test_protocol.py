import struct

import pytest
from crc32c import crc32c

from tests.benchmarks import protocol


def test_a_batch_has_the_layout_of_magic_2() -> None:
    batch = protocol.record_batch([b"a" * 100, b"b" * 100])

    base, length, epoch, magic, crc, attributes, last = struct.unpack_from(">qiibIhi", batch)
    assert (base, length, epoch, magic) == (0, len(batch) - 12, -1, 2)
    assert crc == crc32c(batch[21:])
    assert (attributes, last) == (0, 1)
    assert struct.unpack_from(">i", batch, 57) == (2,)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, "00"), (-1, "01"), (1, "02"), (63, "7e"), (64, "8001"), (108, "d801")],
)
def test_varints_are_zigzag(value: int, encoded: str) -> None:
    assert protocol.varint(value).hex() == encoded


def test_a_frame_is_length_header_and_body() -> None:
    frame = protocol.frame(protocol.API_VERSIONS, 0, b"body")

    assert frame == bytes.fromhex("00000013 0012 0000 00000007 0005") + b"bench" + b"body"


def test_positions_in_answers_are_those_of_their_versions() -> None:
    name = protocol.string("t")
    produce = struct.pack(">ii", 7, 1) + name + struct.pack(">iih", 1, 0, 35)
    fetch = struct.pack(">iii", 7, 0, 1) + name + struct.pack(">iihqqi", 1, 0, 0, 9, 9, 1)
    fetch += struct.pack(">qq", 5, 6) + struct.pack(">i", 1234)

    assert protocol.produce_error("t", memoryview(produce)) == 35
    assert protocol.fetch_answer("t", memoryview(fetch)) == (0, 9, 1234)
