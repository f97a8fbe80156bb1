from typing import Any

import numpy as np
import pytest

from tests.records.kit import encode_batch, encode_marker
from trio_kafka.records.batch import Record
from trio_kafka.records.columnar import CorruptBatchError
from trio_kafka.records.columnar.walk import gather_headers, walk
from trio_kafka.records.columnar.windows import Source, Window
from trio_kafka.records.compression import Codec
from trio_kafka.records.control import Marker

PLAIN = encode_batch([Record(value=b"p" * 1000)])
EMPTY = encode_batch([], last_offset=3)
MARKER = encode_marker(
    Marker(committed=True, coordinator_epoch=1), producer_id=1, producer_epoch=0, timestamp=5
)
PACKED = [encode_batch([Record(value=b"c" * 1000)], codec=codec) for codec in Codec if codec]


def source(log: bytes, **options: Any) -> Source:
    data = memoryview(log)
    positions = walk(data).positions
    options = {"check_crcs": True, "limit": 1 << 20, "size": 3000, **options}
    headers = gather_headers(data, positions)
    return Source(data=data, positions=positions, headers=headers, **options)


def contents(window: Window) -> list[tuple[int, bytes]]:
    """Number and first byte of the value of each batch of a window."""
    view = window.data.tobytes()
    assert window.arrow.to_pybytes() == view
    result = []
    for index, begin, end in zip(window.batches, window.begin, window.end, strict=True):
        value = view[begin:end].strip(b"\0\1")[-10:]
        result.append((int(index), value[:1]))
        assert end - begin == len(PLAIN) - 61
    return result


def windows(log: bytes, selection: list[bool] | None = None, **options: Any) -> list[Any]:
    origin = source(log, **options)
    mask = np.array([True] * len(origin.positions) if selection is None else selection)
    return [contents(window) for window in origin.windows(mask)]


def test_uncompressed_batches_are_not_copied_into_a_window() -> None:
    log = PLAIN * 3
    origin = source(log)

    (window,) = origin.windows(np.array([True, True, True]))

    whole = np.frombuffer(log, np.uint8)
    assert np.shares_memory(window.data, whole)
    part = window.part(1, 2)
    assert part.batches.tolist() == [1]
    assert (part.begin[0], part.end[0]) == (window.begin[1], window.end[1])


def test_window_ends_when_its_size_is_reached() -> None:
    result = windows(PLAIN * 7)

    assert [index for window in result for index, _ in window] == list(range(7))
    assert [len(window) for window in result] == [3, 3, 1]
    assert [len(window) for window in windows(PLAIN * 3, size=1)] == [1, 1, 1]


def test_compressed_and_uncompressed_batches_share_windows_in_log_order() -> None:
    result = windows(b"".join([PLAIN, *PACKED, PLAIN]) * 2, size=1 << 16)

    assert result == [[(n, b"p" if n % 6 in (0, 5) else b"c") for n in range(12)]]


def test_compressed_batches_that_do_not_fit_are_in_the_next_window() -> None:
    result = windows(b"".join(PACKED) * 40, size=100_000)

    assert [index for window in result for index, _ in window] == list(range(160))
    assert len(result) > 1


@pytest.mark.parametrize("others", [[], PACKED[:1]])
def test_control_empty_and_unwanted_batches_are_left_out_of_windows(others: list[bytes]) -> None:
    log = b"".join([*others, PLAIN, MARKER, PLAIN, EMPTY, PLAIN])
    expected = [True] * len(others) + [True, True, False, True, True]

    result = [index - len(others) for window in windows(log, expected) for index, _ in window]

    assert result == [-1] * len(others) + [0, 4]


@pytest.mark.parametrize("others", [[], PACKED[:1]])
@pytest.mark.parametrize("broken", [PLAIN, MARKER, EMPTY], ids=["data", "marker", "empty"])
def test_checksum_of_every_wanted_batch_is_verified_in_log_order(
    broken: bytes, others: list[bytes]
) -> None:
    lie = bytearray(broken)
    lie[30] ^= 1
    log = b"".join([PLAIN, *others, PLAIN, lie, PLAIN])
    origin = source(log, size=10_000)
    result = origin.windows(np.ones(len(origin.positions), np.bool_))

    assert len(next(result).batches) == 2 + len(others)
    with pytest.raises(CorruptBatchError, match="crc") as raised:
        next(result)
    assert raised.value.position == len(PLAIN) * 2 + len(b"".join(others))


def test_checksums_are_not_verified_if_check_crcs_is_false() -> None:
    lie = bytearray(PLAIN)
    lie[18] ^= 1

    assert len(windows(bytes(lie), check_crcs=False)) == 1


def test_uncompressed_batch_larger_than_the_decompression_limit_is_accepted() -> None:
    large = encode_batch([Record(value=bytes(5000))])

    for log in (large, PACKED[0] + large):
        origin = source(log, limit=2000)
        result = list(origin.windows(np.ones(len(origin.positions), np.bool_)))
        assert [int(index) for window in result for index in window.batches] == list(
            range(len(origin.positions))
        )
