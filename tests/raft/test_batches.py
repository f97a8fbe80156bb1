"""Batches of the metadata log."""

import pytest

from tests.raft.kit import DIRECTORY_ID, NODE_1, encode_records
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.stored.control import SnapshotFooterRecord, SnapshotHeaderRecord
from trio_kafka.protocol.stored.metadata.topics import PartitionRecord, TopicRecord
from trio_kafka.raft.batches import (
    encode_controls,
    leader_change,
    read_controls,
    read_metadata,
)
from trio_kafka.raft.voters import Voter, VoterSet
from trio_kafka.records.batch import Record, check_crc, encode_batch, read_header


def test_encoded_records_are_decoded_and_the_header_has_their_offsets() -> None:
    records = [
        TopicRecord(name="t", topic_id=bytes([1] * 16)),
        PartitionRecord(partition_id=0, topic_id=bytes([1] * 16), directories=[bytes(16)]),
    ]

    batch = encode_records(records, base_offset=7, epoch=3, timestamp_ms=5)
    header = read_header(batch)

    check_crc(batch, 0, header)
    assert list(read_metadata(batch, 0, header)) == records
    assert (header.base_offset, header.next_offset, header.leader_epoch) == (7, 9, 3)
    assert (header.max_timestamp, header.is_control) == (5, False)


@pytest.mark.parametrize("kraft_version", [0, 1])
def test_leader_change_is_encoded_as_by_kafka_with_any_kraft_version(kraft_version: int) -> None:
    change = leader_change(NODE_1, VoterSet(kraft_version, (Voter(NODE_1, DIRECTORY_ID),)))

    batch = encode_controls([change], base_offset=0, epoch=1, timestamp_ms=1795236551829)

    assert len(batch) == 91
    assert read_header(batch).is_control
    assert list(read_controls(batch, 0, read_header(batch))) == [change]
    assert (change.version, change.granting_voters[0].voter_id) == (0, NODE_1)


def test_several_control_records_are_encoded_in_a_batch() -> None:
    controls = [SnapshotHeaderRecord(version=0), SnapshotFooterRecord(version=0)]

    batch = encode_controls(controls, base_offset=4, epoch=1, timestamp_ms=1)

    assert list(read_controls(batch, 0, read_header(batch))) == controls


def test_undecodable_record_is_reported_with_its_offset() -> None:
    batch = encode_batch([Record(value=b"\x01\x63\x00", timestamp=1)], 41, 1)

    with pytest.raises(KafkaError, match="offset 41") as caught:
        list(read_metadata(batch, 0, read_header(batch)))

    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
