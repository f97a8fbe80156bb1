from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from trio_kafka.records.batch import Record, encode_batch, iterate_headers
from trio_kafka.records.columnar import CorruptBatchError, scan
from trio_kafka.records.columnar.scan import SCAN_SCHEMA
from trio_kafka.records.compression import Codec

DATA = Path(__file__).parents[1] / "data"
FILES = sorted([*DATA.glob("*.log"), *DATA.glob("v2-*.bin")])
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def time(ms: int) -> datetime | None:
    return None if ms == -1 else EPOCH + timedelta(milliseconds=ms)


@pytest.mark.parametrize("file", FILES, ids=[file.name for file in FILES])
def test_scan_returns_one_row_per_batch_header(file: Path) -> None:
    log = file.read_bytes()

    result = scan(log)

    assert result.schema == SCAN_SCHEMA
    assert result.to_pylist() == [
        {
            "position": position,
            "size": header.size,
            "base_offset": header.base_offset,
            "last_offset": header.last_offset,
            "count": header.count,
            "codec": header.codec.name.lower(),
            "base_timestamp": time(header.base_timestamp),
            "max_timestamp": time(header.max_timestamp),
            "timestamp_type": int(header.is_log_append_time),
            "producer_id": header.producer_id,
            "producer_epoch": header.producer_epoch,
            "base_sequence": header.base_sequence,
            "leader_epoch": header.leader_epoch,
            "transactional": header.is_transactional,
            "control": header.is_control,
            "crc": header.crc,
        }
        for position, header in iterate_headers(log)
    ]


def test_scan_of_an_empty_or_truncated_log_returns_no_rows() -> None:
    assert scan(b"").num_rows == 0
    assert scan(encode_batch([Record()])[:-1]).schema == SCAN_SCHEMA


def test_scan_does_not_read_the_records_of_a_batch() -> None:
    batch = bytearray(encode_batch([Record(value=b"x" * 50)], codec=Codec.ZSTD))
    batch[61:] = bytes(len(batch) - 61)

    assert scan(batch).column("codec").to_pylist() == ["zstd"]


def test_scan_shows_an_unknown_codec_as_null() -> None:
    batch = bytearray(encode_batch([Record()]))
    batch[22] |= 7

    assert scan(batch).column("codec").to_pylist() == [None]


def test_scan_of_an_invalid_header_raises_an_error_with_its_position() -> None:
    batch = encode_batch([Record()])

    with pytest.raises(CorruptBatchError, match=f"magic 9 at position {len(batch)}"):
        scan(batch + b"\t" * 70)
