from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.trio_kafka_spark.client.scripted import offsets_answer, scripted
from tests.trio_kafka_spark.client.test_cluster import TP, quick
from trio_kafka.model import Endpoint, TopicPartition
from trio_kafka.protocol.messages.k02_list_offsets import ListOffsetsRequest
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.testing.processes import BrokerProcess
from trio_kafka_spark.client.cluster import EARLIEST, LATEST, Cluster
from trio_kafka_spark.client.errors import SourceError, UnknownTopicError


def failing(code: int, times: int = 1) -> Any:
    errors = [code] * times

    def answer(request: Any) -> Any:
        result = offsets_answer(request)
        if errors:
            result.topics[0].partitions[0].error_code = errors.pop()
        return result

    return answer


def test_the_broker_gives_earliest_latest_and_timestamp_offsets_of_partitions(
    shared_broker: BrokerProcess,
) -> None:
    admin = AdminClient({"bootstrap.servers": shared_broker.bootstrap})
    for future in admin.create_topics([NewTopic("offsets", 3, 1)]).values():
        future.result()
    producer = Producer({"bootstrap.servers": shared_broker.bootstrap})
    for number in range(10):
        producer.produce("offsets", b"x", partition=1, timestamp=1_700_000_000_000 + number)
    producer.flush()
    first, second, third = (TopicPartition("offsets", n) for n in range(3))

    with Cluster(quick(Endpoint(*shared_broker.address))) as cluster:
        assert cluster.offsets({}) == {}
        result = cluster.offsets({second: LATEST, first: LATEST, third: EARLIEST})
        assert result == {second: 10, first: 0, third: 0}
        assert list(result) == [second, first, third]
        assert cluster.offsets({second: 1_700_000_000_004, first: 0}) == {second: 4, first: -1}
        with pytest.raises(UnknownTopicError, match="offsets has no partition 3"):
            cluster.offsets({TopicPartition("offsets", 3): LATEST})


def test_a_list_offsets_request_has_isolation_level_and_leader_epoch() -> None:
    with scripted() as broker:
        for committed in (False, True):
            with Cluster(quick(broker.endpoint, read_committed=committed)) as cluster:
                cluster.offsets({TP: LATEST})
        requests = broker.requests(ListOffsetsRequest)

    assert [request.isolation_level for request in requests] == [0, 1]
    assert requests[0].topics[0].partitions[0].current_leader_epoch == 3


def test_offsets_are_found_with_list_offsets_version_1() -> None:
    with scripted(at_most={ListOffsetsRequest: 1, MetadataRequest: 4}) as broker:
        with Cluster(quick(broker.endpoint)) as cluster:
            assert cluster.offsets({TP: LATEST}) == {TP: 100}
        assert broker.versions(ListOffsetsRequest) == [1]


@pytest.mark.parametrize("code", [5, 6, 74, 75, 78, 3, 13])
def test_list_offsets_is_repeated_with_new_metadata_after_a_leader_change(code: int) -> None:
    with scripted({ListOffsetsRequest: failing(code)}) as broker:
        with Cluster(quick(broker.endpoint)) as cluster:
            assert cluster.offsets({TP: LATEST}) == {TP: 100}
        assert len(broker.requests(MetadataRequest)) == 2


def test_list_offsets_without_a_ready_leader_fails_with_the_partition() -> None:
    with (
        scripted({ListOffsetsRequest: failing(6, times=99999)}) as broker,
        Cluster(quick(broker.endpoint, api_timeout_ms=20)) as cluster,
        pytest.raises(SourceError, match=r"ListOffsets of t-0: gave up .*t-0: the leader has"),
    ):
        cluster.offsets({TP: LATEST})


def test_a_rejected_list_offsets_fails_without_retry_and_names_broker_and_code() -> None:
    with scripted({ListOffsetsRequest: failing(29)}) as broker:
        with (
            Cluster(quick(broker.endpoint)) as cluster,
            pytest.raises(SourceError, match=f"of t-0 at broker {broker.endpoint}: .*AUTH"),
        ):
            cluster.offsets({TP: LATEST})
        assert len(broker.requests(ListOffsetsRequest)) == 1
