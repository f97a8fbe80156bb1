"""Values of control records against those that Kafka 4.4 wrote."""

import pytest

from tests.protocol.declared import recorded
from trio_kafka.protocol.compiler import decoder, to_bytes
from trio_kafka.protocol.json_data import to_data
from trio_kafka.protocol.stored.control import (
    ControlRecordTypeSchema,
    EndTxnMarker,
    KRaftVersionRecord,
    LeaderChangeMessage,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)

BY_TYPE = {
    2: LeaderChangeMessage,
    3: SnapshotHeaderRecord,
    4: SnapshotFooterRecord,
    5: KRaftVersionRecord,
    6: VotersRecord,
}
LINES = recorded("control-records.jsonl.gz")


def test_every_control_record_type_has_a_recorded_value() -> None:
    assert {line["type"] for line in LINES} == set(BY_TYPE)


@pytest.mark.parametrize("line", LINES, ids=lambda line: line["name"])
def test_a_recorded_control_value_is_decoded_as_by_kafka_and_encoded_back(line: dict) -> None:
    value = bytes.fromhex(line["value"])
    version = int.from_bytes(value[:2])

    message, end = decoder(BY_TYPE[line["type"]], version)(value)

    assert end == len(value)
    assert to_bytes(message, version) == value
    assert to_data(message, names="kafka", version=version) == line["data"]


def test_markers_and_control_keys_are_encoded_without_their_version() -> None:
    # In these the version stands before the message, in its own two bytes.
    assert to_bytes(EndTxnMarker(7), 0).hex() == "00000007"
    assert to_bytes(ControlRecordTypeSchema(1), 0).hex() == "0001"
