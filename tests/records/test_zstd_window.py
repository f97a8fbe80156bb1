import pytest
import zstandard

from trio_kafka.records.zstd_window import LARGEST_WINDOW, largest_window

MIB = 1 << 20


def frame(window_log: int) -> bytes:
    parameters = zstandard.ZstdCompressionParameters.from_level(
        3, window_log=window_log, write_content_size=False
    )
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return packer.compress(bytes(2 * MIB)) + packer.flush()


@pytest.mark.parametrize("log", [10, 17, 21, 23, 27])
def test_the_window_is_the_one_that_the_encoder_was_told(log: int) -> None:
    assert largest_window(frame(log)) == 1 << log


def test_the_largest_window_of_all_frames_counts() -> None:
    assert largest_window(frame(17) + frame(23) + frame(10)) == 8 * MIB


def test_a_frame_behind_one_that_may_be_skipped_counts() -> None:
    skipped = bytes.fromhex("502a4d18") + (4).to_bytes(4, "little") + b"skip"

    assert largest_window(skipped + frame(23)) == 8 * MIB


def test_a_window_between_two_powers_is_read_with_its_mantissa() -> None:
    assert largest_window(bytes.fromhex("28b52ffd00") + bytes([8 * 13 + 4]) + b"\0") == 12 * MIB


@pytest.mark.parametrize(
    "block",
    [
        zstandard.ZstdCompressor().compress(bytes(100)),  # one segment: the content's size
        bytes.fromhex("27b52ffd0058"),  # of a format before 1.0
        bytes.fromhex("28b52ffd"),
        bytes.fromhex("28b52ffd00") + b"\xff" + b"\0",
        frame(17)[:6] * 1001,
    ],
)
def test_a_frame_that_says_nothing_certain_counts_as_the_largest(block: bytes) -> None:
    assert largest_window(block) == LARGEST_WINDOW


def test_a_block_without_frames_has_no_window() -> None:
    assert largest_window(b"") == largest_window(bytes(100)) == 0
