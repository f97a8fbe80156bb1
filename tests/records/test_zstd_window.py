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
def test_zstd_window_equals_the_window_log_of_the_encoder(log: int) -> None:
    assert largest_window(frame(log)) == 1 << log


def test_zstd_window_is_the_largest_of_all_frames() -> None:
    assert largest_window(frame(17) + frame(23) + frame(10)) == 8 * MIB


def test_zstd_window_of_a_frame_after_a_skippable_frame_is_found() -> None:
    skipped = bytes.fromhex("502a4d18") + (4).to_bytes(4, "little") + b"skip"

    assert largest_window(skipped + frame(23)) == 8 * MIB


def test_zstd_window_size_includes_the_mantissa() -> None:
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
def test_zstd_frame_with_an_unreadable_header_counts_as_the_largest_window(block: bytes) -> None:
    assert largest_window(block) == LARGEST_WINDOW


def test_data_without_zstd_frames_have_window_zero() -> None:
    assert largest_window(b"") == largest_window(bytes(100)) == 0
