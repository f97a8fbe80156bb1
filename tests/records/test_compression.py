import random
import traceback
import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.records import compression
from trio_kafka.records.compression import (
    LEVELS,
    Codec,
    TooLargeError,
    compress,
    decompress,
    decompress_into,
)

DATA = Path(__file__).parent / "data"
SOME = b"some bytes, some bytes, " * 2000
PACKED = [codec for codec in Codec if codec is not Codec.NONE]


@given(st.binary(max_size=3000), st.sampled_from(Codec))
def test_compressed_data_decompress_to_the_same_data(data: bytes, codec: Codec) -> None:
    assert decompress(codec, compress(codec, data), len(data)) == data


@pytest.mark.parametrize("codec", [codec for codec in PACKED if codec in LEVELS])
def test_lowest_and_highest_compression_levels_work(codec: Codec) -> None:
    for level in (LEVELS[codec][0], LEVELS[codec][-1]):
        assert decompress(codec, compress(codec, SOME, level), len(SOME)) == SOME


def test_compression_level_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match="level 10 of GZIP"):
        compress(Codec.GZIP, SOME, 10)


@pytest.mark.parametrize("codec", Codec)
def test_decompression_limit_is_exact_to_the_byte(codec: Codec) -> None:
    packed = compress(codec, SOME)

    assert len(decompress(codec, packed, len(SOME))) == len(SOME)
    with pytest.raises(KafkaError) as caught:
        decompress(codec, packed, len(SOME) - 1)
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.slow
@pytest.mark.parametrize("codec", PACKED)
def test_decompression_beyond_the_limit_raises_before_using_the_memory(codec: Codec) -> None:
    bomb = memoryview(compress(codec, bytes(64 << 20)))
    tracemalloc.start()

    with pytest.raises(KafkaError, match="CORRUPT_MESSAGE"):
        decompress(codec, bomb, 1 << 20)

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 << 20


@pytest.mark.parametrize("codec", PACKED)
def test_highly_compressed_data_are_decompressed(codec: Codec) -> None:
    assert decompress(codec, compress(codec, bytes(1 << 20)), 1 << 20) == bytes(1 << 20)


@pytest.mark.parametrize("codec", PACKED)
@pytest.mark.parametrize("damage", [b"", b"\x00" * 40, b"\xff" * 40])
def test_invalid_compressed_data_raise_corrupt_message(codec: Codec, damage: bytes) -> None:
    with pytest.raises(KafkaError) as caught:
        decompress(codec, damage, 1 << 20)
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("codec", PACKED)
def test_truncated_compressed_data_raise_corrupt_message(codec: Codec) -> None:
    with pytest.raises(KafkaError, match="CORRUPT_MESSAGE"):
        decompress(codec, compress(codec, SOME)[:-1], 1 << 20)


@given(st.sampled_from(PACKED), st.binary(max_size=100))
def test_random_bytes_decompress_to_data_or_raise_corrupt_message(
    codec: Codec, junk: bytes
) -> None:
    code, size = None, 0
    try:
        size = len(decompress(codec, junk, 1 << 16))
    except KafkaError as error:
        code = error.code
    assert size <= 1 << 16
    assert code in (None, ErrorCode.CORRUPT_MESSAGE)


def test_snappy_is_written_as_a_stream_and_read_as_stream_or_raw_block() -> None:
    assert compress(Codec.SNAPPY, SOME)[:16].hex() == "82534e41505059000000000100000001"
    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(SOME)), 1 << 20) == SOME


def test_concatenated_snappy_streams_are_read() -> None:
    joined = compress(Codec.SNAPPY, SOME) + compress(Codec.SNAPPY, b"more")

    assert decompress(Codec.SNAPPY, joined, 1 << 20) == SOME + b"more"


def test_first_lz4_frame_is_read_and_the_bytes_after_it_are_ignored() -> None:
    packed = compress(Codec.LZ4, SOME)
    checked = bytes(cramjam.lz4.compress(SOME))  # with a checksum of the content

    for frame in (packed, checked):
        for rest in (b"", b"\0\1", packed):
            assert decompress(Codec.LZ4, frame + rest, 1 << 20) == SOME
        with pytest.raises(KafkaError):
            decompress(Codec.LZ4, frame[:-1], 1 << 20)


def test_lowest_gzip_level_compresses_about_as_well_as_zlib() -> None:
    text = b" ".join(b"%x" % (n * n) for n in range(20_000))

    packed = len(compress(Codec.GZIP, text, 1))

    assert packed < 1.1 * len(zlib.compress(text, 1))


def test_decompression_limit_holds_for_all_blocks_of_a_snappy_stream_together() -> None:
    with pytest.raises(KafkaError, match="want at most"):
        decompress(Codec.SNAPPY, compress(Codec.SNAPPY, bytes(100_000)), 99_999)


@pytest.mark.parametrize("length", ["ffffffff", "7fffffff", "00"])
def test_snappy_stream_with_a_wrong_block_length_is_corrupt(length: str) -> None:
    head = compress(Codec.SNAPPY, b"")

    with pytest.raises(KafkaError, match="CORRUPT_MESSAGE: snappy"):
        decompress(Codec.SNAPPY, head + bytes.fromhex(length), 100)


def test_default_lz4_level_is_the_fast_compressor_as_in_kafka() -> None:
    text = b"".join(b"%d bottles of beer on the wall, " % (n * 7919 % 1000) for n in range(9000))

    by_default = len(compress(Codec.LZ4, text))

    assert by_default == len(compress(Codec.LZ4, text, 9)) == len(compress(Codec.LZ4, text, 1))
    assert by_default > len(compress(Codec.LZ4, text, 8))


def test_lz4_is_written_in_independent_blocks() -> None:
    flags = compress(Codec.LZ4, SOME)[4]

    assert flags & 0x20  # Java's reader refuses linked blocks
    assert not flags & 0x04


def test_two_gzip_members_are_read_as_one_stream() -> None:
    packed = compress(Codec.GZIP, b"one ") + compress(Codec.GZIP, b"two")

    assert decompress(Codec.GZIP, packed, 100) == b"one two"


@given(st.sampled_from(Codec), st.binary(max_size=80_000), st.integers(1, 9))
def test_compression_within_its_size_limit_gives_the_same_bytes(
    codec: Codec, data: bytes, level: int
) -> None:
    given_level = level if codec in LEVELS else None

    packed = compress(codec, data, given_level)

    assert compress(codec, data, given_level, most=1 << 20) == packed
    assert decompress(codec, packed, len(data)) == data


@pytest.mark.parametrize("codec", Codec)
def test_compression_beyond_its_size_limit_raises_message_too_large(codec: Codec) -> None:
    hard = random.Random(1).randbytes(1 << 20)

    with pytest.raises(KafkaError) as caught:
        compress(codec, hard, None, most=100_000)

    assert caught.value.code is ErrorCode.MESSAGE_TOO_LARGE
    assert compress(codec, hard, None, most=1 << 21) == compress(codec, hard)


@given(st.sampled_from(Codec), st.binary(max_size=100_000))
def test_decompress_into_a_buffer_gives_the_same_data(codec: Codec, data: bytes) -> None:
    packed = compress(codec, data)
    buffer = memoryview(bytearray(len(data) + 7))

    assert decompress_into(codec, packed, buffer) == len(data)
    assert buffer[: len(data)] == data == decompress(codec, packed, len(data))
    if data:
        with pytest.raises(TooLargeError):
            decompress_into(codec, packed, buffer[: len(data) - 1])


def _kept_by(error: BaseException | None) -> Iterator[int]:
    """Sizes of the local variables that the tracebacks of an error keep alive."""
    while error is not None:
        for frame, _ in traceback.walk_tb(error.__traceback__):
            if frame.f_code.co_filename == compression.__file__:
                yield from (
                    len(f_local)
                    for f_local in frame.f_locals.values()
                    if hasattr(f_local, "__len__")
                )
        error = error.__context__


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
@pytest.mark.parametrize("cut", [False, True])
def test_decompression_error_does_not_keep_the_output_in_memory(codec: Codec, cut: bool) -> None:
    packed = compress(codec, bytes(8 << 20))
    if cut:
        packed = packed[:-9]

    with pytest.raises(KafkaError) as caught:
        decompress(codec, packed, (8 << 20) - (not cut))

    assert max(_kept_by(caught.value)) <= len(packed)


def test_snappy_stream_of_many_blocks_is_read_whole() -> None:
    packed = compress(Codec.SNAPPY, SOME * 50)
    assert len(SOME * 50) > 2 * (32 << 10)

    assert decompress(Codec.SNAPPY, packed, 1 << 24) == SOME * 50
    with pytest.raises(KafkaError, match="snappy block of no bytes"):
        decompress(Codec.SNAPPY, packed + bytes(4), 1 << 24)
