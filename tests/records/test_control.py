from pathlib import Path

import pytest

from trio_kafka.errors import KafkaError
from trio_kafka.records.batch import Record, iterate_headers, read_header, read_records
from trio_kafka.records.control import (
    ControlType,
    Marker,
    control_record,
    control_type,
    encode_control_batch,
    encode_marker,
    read_marker,
    value_version,
)

DATA = Path(__file__).parent / "data"


def control_records(name: str) -> list[Record]:
    log = (DATA / name).read_bytes()
    return [
        record
        for at, header in iterate_headers(log)
        if header.is_control
        for record in read_records(log, at, header)
    ]


def test_transaction_markers_written_by_kafka_are_read() -> None:
    markers = [(record.offset, read_marker(record)) for record in control_records("txn.log")]

    assert markers[:3] == [
        (5, Marker(committed=True, coordinator_epoch=0)),
        (11, Marker(committed=False, coordinator_epoch=0)),
        (17, Marker(committed=True, coordinator_epoch=0)),
    ]


def test_encoded_transaction_marker_has_the_bytes_that_kafka_writes() -> None:
    log = (DATA / "txn.log").read_bytes()
    header = read_header(log)

    marker, encoded = encode_marker(
        Marker(committed=True, coordinator_epoch=0),
        producer_id=5,
        producer_epoch=1,
        timestamp=header.base_timestamp,
    )

    assert len(marker) == 78
    assert marker[16:] == log[16:78]
    assert read_header(marker) == encoded


def test_control_records_of_a_metadata_snapshot_are_read() -> None:
    records = control_records("metadata.checkpoint")

    assert [control_type(record) for record in records] == [
        ControlType.SNAPSHOT_HEADER,
        ControlType.SNAPSHOT_FOOTER,
    ]
    assert [value_version(record) for record in records] == [0, 0]
    assert [read_marker(record) for record in records] == [None, None]


def test_encoded_control_batch_has_the_bytes_that_kafka_writes() -> None:
    log = (DATA / "metadata.checkpoint").read_bytes()
    header = read_header(log)
    (record,) = read_records(log, 0, header)

    batch = encode_control_batch(
        [control_record(ControlType.SNAPSHOT_HEADER, record.value or b"", record.timestamp)], 0, 0
    )

    assert batch == log[: header.size]


def test_unknown_control_types_are_ignored_and_longer_control_keys_are_read() -> None:
    assert control_type(Record(key=bytes.fromhex("00000063"))) is None
    assert control_type(Record(key=bytes.fromhex("000100010203"))) is ControlType.COMMIT


@pytest.mark.parametrize("key", [None, b"", b"\x00\x00\x00", b"\xff\xff\x00\x01"])
def test_invalid_control_record_key_is_corrupt(key: bytes | None) -> None:
    with pytest.raises(KafkaError, match="CORRUPT_MESSAGE: control record at 7"):
        control_type(Record(offset=7, key=key))


@pytest.mark.parametrize("value", [None, b"", bytes(5), b"\xff\xff" + bytes(4)])
def test_transaction_marker_without_a_valid_value_is_corrupt(value: bytes | None) -> None:
    with pytest.raises(KafkaError, match="CORRUPT_MESSAGE: transaction marker at 7"):
        read_marker(Record(offset=7, key=bytes(4), value=value))


def test_control_record_value_without_a_version_is_corrupt() -> None:
    with pytest.raises(KafkaError, match="CORRUPT_MESSAGE"):
        value_version(Record(key=bytes(4), value=b"\x00"))
