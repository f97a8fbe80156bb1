"""Damaged batches and responses."""

import pytest

from tests.apis.kit import batch, produce_request
from trio_kafka.controls.faults.damage import (
    damaged_batches,
    damaged_response,
    with_damaged_records,
)
from trio_kafka.errors import KafkaError
from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.messages.k12_heartbeat import HeartbeatResponse
from trio_kafka.records.batch import check_crc, iterate_headers


def test_damage_changes_only_the_checksum_of_each_batch() -> None:
    whole = bytes(batch(b"a")) + bytes(batch(b"b", b"c"))

    result = damaged_batches(whole)

    assert sum(byte != other for byte, other in zip(whole, result, strict=True)) == 2
    headers = list(iterate_headers(memoryview(result)))
    assert len(headers) == 2
    for position, header in headers:
        with pytest.raises(KafkaError):
            check_crc(memoryview(result), position, header)


@pytest.mark.parametrize("end", [1, 17, 20])
def test_damage_accepts_records_that_end_inside_a_batch(end: int) -> None:
    assert len(damaged_batches(bytes(batch(b"a"))[:-end])) == len(batch(b"a")) - end
    assert damaged_batches(b"") == b""


def test_damage_changes_the_checksum_of_an_old_format_batch_at_its_own_position() -> None:
    old = bytearray(30)
    old[11], old[16] = 18, 1  # size, magic

    assert damaged_batches(old)[12] == 0xFF


def test_damaging_the_records_of_a_request_leaves_the_original_unchanged() -> None:
    records = batch(b"a")
    request = produce_request("t", (0, records), (1, None))

    damaged = with_damaged_records(request)

    assert request.topic_data[0].partition_data[0].records is records
    assert bytes(records) == bytes(batch(b"a"))
    rows = damaged.topic_data[0].partition_data
    assert rows[0].records == damaged_batches(records)
    assert rows[1].records is None


def test_each_byte_of_a_damaged_response_is_inverted() -> None:
    response = HeartbeatResponse(throttle_time_ms=7)

    body = damaged_response(response, 4).body

    assert bytes(255 - byte for byte in body) == to_bytes(response, 4)
