"""Lines of the request log: Kafka's shape, no payload, no secret, bounded."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.introspect.stamps import Origin, Stamps
from trio_kafka.model import Endpoint, code_of
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from trio_kafka.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest
from trio_kafka.protocol.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from trio_kafka.requests.request_log.lines import (
    HIDDEN,
    MAX_CHARACTERS,
    MAX_ITEMS,
    MAX_STRUCTS,
    format_line,
    request_body,
)

ORIGIN = Origin(
    peer=Endpoint("10.0.0.9", 5000),
    local=Endpoint("10.0.0.1", 9092),
    listener="OUTSIDE",
    protocol="PLAINTEXT",
    number=7,
    software=("librdkafka", "2.5.0"),
)


def over(**values: object) -> Stamps:
    stamps = Stamps(
        received=100.0,
        begun=100.001,
        code=code_of(1, 17),
        correlation=42,
        request_bytes=300,
        origin=ORIGIN,
        handled=100.003,
        answered=100.503,
        sending=100.504,
        sent=100.506,
        throttled_s=0.25,
        plugin_s=0.0005,
        response_bytes=1000,
        client_id="c-1",
    )
    for name, value in values.items():
        setattr(stamps, name, value)
    return stamps


def test_request_log_line_has_the_fields_of_kafkas_request_log() -> None:
    line = json.loads(format_line(over(), "Fetch", {"maxWaitMs": 500}, "User:ANONYMOUS"))

    assert line == {
        "isForwarded": False,
        "requestHeader": {
            "requestApiKey": 1,
            "requestApiVersion": 17,
            "correlationId": 42,
            "clientId": "c-1",
            "requestApiKeyName": "FETCH",
        },
        "request": {"maxWaitMs": 500},
        "response": None,
        "requestSizeBytes": 300,
        "responseSizeBytes": 1000,
        "errorCode": 0,
        "connection": "10.0.0.1:9092-10.0.0.9:5000-7",
        "totalTimeMs": 506.0,
        "requestQueueTimeMs": 1.0,
        "localTimeMs": 2.0,
        "remoteTimeMs": 500.0,
        "throttleTimeMs": 250,
        "responseQueueTimeMs": 1.0,
        "sendTimeMs": 2.0,
        "pluginTimeMs": 0.5,
        "securityProtocol": "PLAINTEXT",
        "principal": "User:ANONYMOUS",
        "listener": "OUTSIDE",
        "clientInformation": {"softwareName": "librdkafka", "softwareVersion": "2.5.0"},
    }


def test_request_log_line_shows_unknown_for_a_client_without_software_name() -> None:
    nobody = over(
        origin=Origin(
            peer=ORIGIN.peer, local=ORIGIN.local, listener="L", protocol="PLAINTEXT", number=0
        )
    )
    line = json.loads(format_line(nobody, "OffsetForLeaderEpoch", None, ""))

    assert line["clientInformation"] == {"softwareName": "unknown", "softwareVersion": "unknown"}
    assert line["requestHeader"]["requestApiKeyName"] == "OFFSET_FOR_LEADER_EPOCH"


@given(st.text())
def test_request_log_line_has_no_newline_for_any_client_id(client_id: str) -> None:
    line = format_line(over(client_id=client_id), "Fetch", None, "")

    assert "\n" not in line
    assert json.loads(line)["requestHeader"]["clientId"] == client_id


def test_request_log_shows_records_by_their_size() -> None:
    data = PartitionProduceData(0, memoryview(b"payload"))
    request = ProduceRequest(acks=1, topic_data=[TopicProduceData("t", partition_data=[data])])

    body = request_body(request, 9)

    assert body["topicData"][0]["partitionData"] == [{"index": 0, "recordsSizeInBytes": 7}]
    assert "payload" not in json.dumps(body)


def test_request_log_shows_bytes_fields_by_their_size() -> None:
    body = request_body(SaslAuthenticateRequest(auth_bytes=b"\0user\0secret"), 2)

    assert body == {"authBytesSizeInBytes": 12}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("retention.ms", "100"),
        ("log.cleaner.threads", "100"),
        ("ssl.keystore.password", HIDDEN),
        ("listener.name.x.ssl.key.password", HIDDEN),
        ("nobody.knows", HIDDEN),
    ],
)
def test_request_log_hides_values_of_secret_and_unknown_settings(name: str, shown: str) -> None:
    change = AlterableConfig(name, 0, "100")
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(4, "1", [change])])

    (resource,) = request_body(request, 1)["resources"]

    assert resource["configs"][0]["value"] == shown


def test_request_log_shows_only_the_fields_of_the_request_version() -> None:
    topic = FetchTopic(topic="t", topic_id=bytes(16), partitions=[FetchPartition()])
    old, new = (request_body(FetchRequest(topics=[topic]), version) for version in (12, 13))

    assert ("topic" in old["topics"][0], "topicId" in old["topics"][0]) == (True, False)
    assert ("topic" in new["topics"][0], "topicId" in new["topics"][0]) == (False, True)
    assert new["topics"][0]["topicId"] == "A" * 22


def test_request_log_cuts_long_strings_and_long_arrays() -> None:
    topics = [MetadataRequestTopic(name="x" * 5000) for _ in range(MAX_ITEMS + 5)]
    body = request_body(MetadataRequest(topics=topics), 4)

    *shown, more = body["topics"]
    assert (len(shown), more) == (MAX_ITEMS, "and 5 more")
    assert len(shown[0]["name"]) == MAX_CHARACTERS
    assert request_body(MetadataRequest(topics=None), 4)["topics"] is None


def test_request_log_bounds_nested_arrays_by_their_total_size() -> None:
    partitions = [FetchPartition() for _ in range(90)]
    topics = [FetchTopic(topic=f"t-{n}", partitions=partitions) for n in range(90)]

    text = json.dumps(request_body(FetchRequest(topics=topics), 12))

    assert text.count("fetchOffset") <= MAX_STRUCTS
