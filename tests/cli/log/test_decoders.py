from pathlib import Path

import pytest

from tests.cli.log.kit import extract
from trio_kafka.cli.log.batches import Batch, read_batches
from trio_kafka.cli.log.decoders import (
    HIDDEN,
    Decoded,
    UndecodableError,
    decode_control,
    decoder_of,
)
from trio_kafka.coordinators.groups.stored_records import GROUP_RECORDS
from trio_kafka.coordinators.shards.effects import CoordinatorRecord
from trio_kafka.protocol.stored.groups.classic import OffsetCommitKey
from trio_kafka.protocol.stored.metadata.configs import ConfigRecord
from trio_kafka.protocol.stored.metadata.frame import encode_record as encode_metadata
from trio_kafka.protocol.stored.metadata.security import UserScramCredentialRecord
from trio_kafka.protocol.stored.remote_log import RemotePartitionDeleteMetadataRecord
from trio_kafka.records.batch import Record
from trio_kafka.world.blocking_file import open_reader


def decode(name: str, record: Record) -> Decoded:
    function = decoder_of(name, None)
    assert function is not None
    return function(record)


@pytest.mark.parametrize(
    "topic",
    [
        "__consumer_offsets",
        "__transaction_state",
        "__cluster_metadata",
        "__share_group_state",
        "__remote_log_metadata",
    ],
)
def test_decoder_is_chosen_by_the_name_of_the_internal_topic(topic: str) -> None:
    assert decoder_of("auto", topic) is not None


@pytest.mark.parametrize(("name", "topic"), [("auto", "orders"), ("auto", None), ("none", "x")])
def test_records_of_client_topics_have_no_decoder(name: str, topic: str | None) -> None:
    assert decoder_of(name, topic) is None


def test_tombstone_is_decoded_with_its_key_and_without_a_value() -> None:
    key, _ = GROUP_RECORDS.encode(CoordinatorRecord(OffsetCommitKey("g", "t", 3)))

    decoded = decode("offsets", Record(key=key))

    assert decoded == Decoded(
        name="OffsetCommit", number=1, key={"group": "g", "topic": "t", "partition": 3}
    )


def test_members_of_classic_groups_are_decoded_with_topics_and_partitions(tmp_path: Path) -> None:
    folder = extract("consumer_offsets", tmp_path) / "__consumer_offsets-0"
    result = []
    with open_reader(folder / f"{0:020}.log") as reader:
        for piece in read_batches(reader):
            assert isinstance(piece, Batch)
            if not piece.header.is_control:
                result += [decode("offsets", record) for record in piece.records()]

    values = [
        decoded.value for decoded in result if decoded.name == "GroupMetadata" and decoded.value
    ]
    [member] = next(value["members"] for value in values if value["members"])
    assert member["subscription"]["topics"] == ["gzip", "plain"]
    assert member["assignment"]["assignedPartitions"][0] == {"topic": "plain", "partitions": [0]}


def test_scram_credentials_are_hidden_in_metadata_records() -> None:
    credential = UserScramCredentialRecord("alice", 1, b"salt", b"stored", b"server", 4096)

    decoded = decode("metadata", Record(value=encode_metadata(credential, 0)))

    assert decoded.value is not None
    assert decoded.value["name"] == "alice"
    assert {decoded.value[name] for name in ("salt", "storedKey", "serverKey")} == {HIDDEN}


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("retention.ms", "1000", "1000"),
        ("ssl.keystore.password", "hunter2", HIDDEN),
        ("plugin.mine.token", "hunter2", HIDDEN),
        ("ssl.keystore.password", None, None),
    ],
)
def test_values_of_secret_and_unknown_settings_are_hidden(
    name: str, value: str | None, shown: str | None
) -> None:
    record = Record(value=encode_metadata(ConfigRecord(2, "t", name, value), 0))

    decoded = decode("metadata", record)

    assert decoded.value is not None
    assert decoded.value["value"] == shown


def test_records_of_remote_segments_are_decoded() -> None:
    from trio_kafka.protocol.compiler import to_bytes

    body = to_bytes(RemotePartitionDeleteMetadataRecord(broker_id=7), 0)

    decoded = decode("remote", Record(value=b"\x01\x02\x00" + body))

    assert decoded.name == "RemotePartitionDeleteMetadataRecord"
    assert decoded.value is not None
    assert decoded.value["brokerId"] == 7


@pytest.mark.parametrize(
    ("name", "record", "text"),
    [
        ("offsets", Record(value=b"x"), "key None"),
        ("offsets", Record(key=b"\x00"), "two bytes first"),
        ("offsets", Record(key=b"\x03\xe8"), "unknown record type 1000"),
        ("transactions", Record(key=b"\x00\x00\x00\x05ab"), "TransactionLogKey"),
        ("share", Record(key=b"\x00\x09"), "unknown record type 9"),
        ("metadata", Record(value=None), "without a frame"),
        ("metadata", Record(value=b"\x02\x03\x00"), "frame version 2"),
        ("metadata", Record(value=b"\x01\x7f\x00"), "unknown record type 127"),
        ("metadata", Record(value=b"\x01\x02\x63"), "TopicRecord version 99"),
        ("metadata", Record(value=b"\x01\x14\x00\x00\x00"), "1 bytes after NoOpRecord"),
    ],
)
def test_record_of_another_topic_is_refused_by_the_decoder(
    name: str, record: Record, text: str
) -> None:
    with pytest.raises(UndecodableError, match=text):
        decode(name, record)


def test_unknown_control_record_is_shown_by_its_type_number() -> None:
    assert decode_control(Record(key=b"\x00\x00\x00\x63", value=b"")).name == "type 99"


@pytest.mark.parametrize(
    "record",
    [Record(key=None), Record(key=b"\x00\x00\x00\x02", value=b""), Record(key=b"\0\0\0\1")],
)
def test_a_damaged_control_record_is_refused(record: Record) -> None:
    with pytest.raises(UndecodableError):
        decode_control(record)
