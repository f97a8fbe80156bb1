import json

import pytest

from trio_kafka.protocol.errors import EncodeError
from trio_kafka.protocol.json_data import from_data, to_data
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k01_fetch import FetchRequest
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsResponse
from trio_kafka.protocol.schema import data, float64, string
from trio_kafka.protocol.stored.metadata.brokers import BrokerRegistrationChangeRecord
from trio_kafka.protocol.stored.metadata.security import UserScramCredentialRecord

ID = bytes(15) + b"\x01"
PRODUCE = ProduceRequest(
    "tx",
    -1,
    1000,
    [TopicProduceData(topic_id=ID, partition_data=[PartitionProduceData(3, memoryview(b"\x01"))])],
)


def test_a_message_survives_a_round_trip_through_json() -> None:
    shown = to_data(PRODUCE)

    assert shown == {
        "transactional_id": "tx",
        "acks": -1,
        "timeout_ms": 1000,
        "topic_data": [
            {
                "name": "",
                "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ",
                "partition_data": [{"index": 3, "records": "AQ=="}],
            }
        ],
    }
    assert from_data(ProduceRequest, json.loads(json.dumps(shown))) == PRODUCE


def test_to_data_with_kafka_names_and_a_version_gives_the_json_of_kafka() -> None:
    assert to_data(PRODUCE, names="kafka", version=13)["topicData"] == [
        {"topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "partitionData": [{"index": 3, "records": "AQ=="}]}
    ]
    assert "replicaState" not in to_data(FetchRequest(), names="kafka", version=15)
    assert to_data(ApiVersionsResponse(), names="kafka", version=3) == {
        "errorCode": 0,
        "apiKeys": [],
        "throttleTimeMs": 0,
    }


def test_to_data_refuses_a_version_that_lacks_a_field_of_the_message() -> None:
    with pytest.raises(EncodeError, match="version 15, replica_id"):
        to_data(FetchRequest(replica_id=5), version=15)


@pytest.mark.parametrize("names", ["python", "kafka"])
def test_uuids_bytes_and_unknown_tags_survive_a_round_trip_through_json(names: str) -> None:
    change = BrokerRegistrationChangeRecord(1, 2, log_dirs=[ID], cordoned_log_dirs=None)
    change.unknown_tags = {7: b"\xff"}  # type: ignore[attr-defined]
    scram = UserScramCredentialRecord("me", 1, b"salt", b"stored", b"server", 4096)

    for message in (change, scram):
        shown = json.loads(json.dumps(to_data(message, names=names)))  # type: ignore[arg-type]
        assert from_data(type(message), shown, names=names) == message  # type: ignore[arg-type]


def test_missing_fields_get_their_defaults() -> None:
    assert from_data(ProduceRequest, {}) == ProduceRequest()


@pytest.mark.parametrize(
    ("shown", "complaint"),
    [
        ({"ackz": 1}, "ackz"),
        ({"acks": "1"}, "acks"),
        ({"acks": True}, "acks"),
        ({"acks": None}, "acks"),
        ({"transactional_id": 5}, "transactional_id"),
        ({"topic_data": [{"topic_id": "short"}]}, "topic_id"),
        ({"topic_data": [{"topic_id": 5}]}, "topic_id"),
        ({"topic_data": [{"partition_data": [{"records": "%"}]}]}, "records"),
        ({"topic_data": [{"partition_data": [{"records": 7}]}]}, "records"),
        ({"topic_data": 5}, "topic_data"),
        ({"unknown_tags": {"x": ""}}, "unknown_tags"),
        (5, "ProduceRequest|type"),
    ],
)
def test_from_data_refuses_invalid_data_and_names_the_field(shown: object, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        from_data(ProduceRequest, shown)


def test_from_data_refuses_a_text_for_a_boolean() -> None:
    with pytest.raises(ValueError, match="zk_migration_ready"):
        from_data(ApiVersionsResponse, {"zk_migration_ready": "false"})


def test_from_data_accepts_an_integer_for_a_float_field() -> None:
    @data(versions="0")
    class Quota:
        value: float = float64()
        name: str = string()

    assert from_data(Quota, {"value": 5}) == Quota(5.0)
    with pytest.raises(ValueError, match="value"):
        from_data(Quota, {"value": "5"})
