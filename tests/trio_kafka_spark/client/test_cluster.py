from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.trio_kafka_spark.client.scripted import (
    CLOSE,
    Scripted,
    fetch_answer,
    offsets_answer,
    scripted,
)
from trio_kafka.model import Endpoint, TopicPartition
from trio_kafka.protocol.messages.k01_fetch import FetchRequest
from trio_kafka.protocol.messages.k02_list_offsets import (
    ListOffsetsRequest,
)
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseTopic,
)
from trio_kafka.testing.ports import unused_port
from trio_kafka.testing.processes import BrokerProcess
from trio_kafka_spark.client.cluster import LATEST, Cluster
from trio_kafka_spark.client.connection import BrokerConnectionError
from trio_kafka_spark.client.errors import SourceError, UnknownTopicError
from trio_kafka_spark.client.settings import ClientSettings

TP = TopicPartition("t", 0)


def quick(*endpoints: Endpoint, **more: Any) -> ClientSettings:
    fast = {"retry_backoff_ms": 1, "retry_backoff_max_ms": 2, "api_timeout_ms": 5000}
    return ClientSettings(bootstrap=endpoints, **(fast | more))


def create(broker: BrokerProcess, **topics: int) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    new = [NewTopic(name.replace("_", "-"), count, 1) for name, count in topics.items()]
    for future in admin.create_topics(new).values():
        future.result()


def test_topics_are_listed_with_their_partitions_and_unknown_topics_are_absent(
    shared_broker: BrokerProcess,
) -> None:
    create(shared_broker, cluster_a=3, cluster_b=1)
    with Cluster(quick(Endpoint(*shared_broker.address))) as cluster:
        assert cluster.topics(["cluster-a", "cluster-absent"]) == {"cluster-a": [0, 1, 2]}
        assert cluster.topics([]) == {}
        everything = cluster.topics()
        assert (everything["cluster-a"], everything["cluster-b"]) == ([0, 1, 2], [0])


def test_a_missing_topic_is_created_only_on_request(shared_broker: BrokerProcess) -> None:
    with Cluster(quick(Endpoint(*shared_broker.address))) as cluster:
        assert cluster.topics(["cluster-new"]) == {}

        assert cluster.topics(["cluster-new"], create=True) == {"cluster-new": [0]}


def test_internal_topics_are_left_out_unless_named_or_allowed_by_the_setting() -> None:
    def internal(_request: Any) -> Any:
        answer = broker.metadata()
        [topic] = answer.topics
        topic.is_internal = True
        return answer

    with scripted({MetadataRequest: internal}) as broker:
        with Cluster(quick(broker.endpoint)) as cluster:
            assert cluster.topics() == {}
            assert cluster.topics(["t"]) == {"t": [0]}
        with Cluster(quick(broker.endpoint, exclude_internal_topics=False)) as cluster:
            assert cluster.topics() == {"t": [0]}


def test_the_next_bootstrap_server_is_used_if_the_first_is_down() -> None:
    with scripted() as broker:
        dead = Endpoint("127.0.0.1", unused_port())
        with Cluster(quick(dead, broker.endpoint)) as cluster:
            assert cluster.topics(["t"]) == {"t": [0]}


def test_bootstrap_servers_are_used_again_if_no_known_broker_responds() -> None:
    with scripted() as broker:
        settings = quick(broker.endpoint)
        with Cluster(settings) as cluster:
            elsewhere = broker.metadata()
            elsewhere.brokers[0].port = unused_port()
            broker.handlers[MetadataRequest] = lambda _: elsewhere
            cluster.topics(["t"])
            cluster.close()

            assert cluster.topics(["t"]) == {"t": [0]}


def test_the_error_of_an_unreachable_cluster_names_api_and_broker() -> None:
    dead = Endpoint("127.0.0.1", unused_port())
    with (
        Cluster(quick(dead, api_timeout_ms=5)) as cluster,
        pytest.raises(SourceError, match=rf"UNAVAILABLE\] Metadata: .*broker {dead}: .*refused"),
    ):
        cluster.topics(["t"])


def test_metadata_is_requested_until_a_partition_has_a_leader() -> None:
    with scripted() as broker:
        answers = [broker.metadata(leader_id=-1, error_code=5), broker.metadata()]
        broker.handlers[MetadataRequest] = lambda _: answers.pop(0)
        with Cluster(quick(broker.endpoint)) as cluster:
            assert cluster.leader_of(TP).node == 1

        assert len(broker.requests(MetadataRequest)) == 2


def test_a_missing_topic_is_an_error_after_five_metadata_requests() -> None:
    def unknown(_request: Any) -> Any:
        answer = broker.metadata()
        answer.topics = [MetadataResponseTopic(3, "t")]
        return answer

    with (
        scripted({MetadataRequest: unknown}) as broker,
        Cluster(quick(broker.endpoint)) as cluster,
    ):
        with pytest.raises(UnknownTopicError, match="topic t has no partition 0, or does not"):
            cluster.leader(TP)
        assert len(broker.requests(MetadataRequest)) == 5


def test_a_topic_without_authorization_is_an_error_without_retry() -> None:
    def forbidden(_request: Any) -> Any:
        answer = broker.metadata()
        answer.topics = [MetadataResponseTopic(29, "t")]
        return answer

    with (
        scripted({MetadataRequest: forbidden}) as broker,
        Cluster(quick(broker.endpoint)) as cluster,
    ):
        for ask in (lambda: cluster.topics(["t"]), lambda: cluster.leader(TP)):
            with pytest.raises(SourceError, match=r"KAFKA_AUTHORIZATION_FAILED\] .*topic t"):
                ask()


def test_a_request_is_repeated_after_the_leader_closes_the_connection() -> None:
    with scripted() as broker:
        failures = [CLOSE]
        broker.handlers[ListOffsetsRequest] = lambda request: (
            failures.pop() if failures else offsets_answer(request)
        )
        with Cluster(quick(broker.endpoint)) as cluster:
            assert cluster.offsets({TP: LATEST}) == {TP: 100}

        assert broker.connections == 2


def test_metadata_is_requested_again_only_after_its_maximum_age() -> None:
    with scripted() as broker:
        with Cluster(quick(broker.endpoint, metadata_max_age_ms=0)) as cluster:
            cluster.leader(TP)
            cluster.leader(TP)
        assert len(broker.requests(MetadataRequest)) >= 2
        broker.received.clear()
        with Cluster(quick(broker.endpoint)) as cluster:
            cluster.leader(TP)
            cluster.leader(TP)
        assert len(broker.requests(MetadataRequest)) == 1


def test_another_connection_is_opened_if_an_idle_connection_is_required() -> None:
    with scripted({FetchRequest: lambda _: fetch_answer()}) as broker:
        with Cluster(quick(broker.endpoint)) as cluster:
            busy = cluster.leader(TP)
            busy.send(FetchRequest(max_wait_ms=0, min_bytes=0))

            assert cluster.topics(["t"]) == {"t": [0]}
            assert cluster.leader(TP) is busy
            assert cluster.leader(TP, idle=True) is not busy
            assert busy.receive().responses

            assert cluster.leader(TP, idle=True) is busy
        assert broker.connections == 2


def test_an_expiring_sasl_session_is_replaced_after_pending_responses() -> None:
    with (
        scripted({FetchRequest: lambda _: fetch_answer()}) as broker,
        Cluster(quick(broker.endpoint)) as cluster,
    ):
        first = cluster.leader(TP)
        first._session.expires = 0.0
        first.send(FetchRequest(max_wait_ms=0, min_bytes=0))
        assert cluster.leader(TP) is first
        first.receive()

        assert cluster.leader(TP) is not first


def test_after_a_failed_connection_the_leader_is_looked_up_again() -> None:
    with scripted() as broker:
        elsewhere = broker.metadata()
        elsewhere.brokers[0].port = unused_port()
        answers = [elsewhere, broker.metadata()]
        broker.handlers[MetadataRequest] = lambda _: answers.pop(0)
        with Cluster(quick(broker.endpoint)) as cluster:
            with pytest.raises(BrokerConnectionError):
                cluster.leader(TP)

            assert cluster.leader(TP).endpoint == broker.endpoint


def test_a_request_is_sent_to_any_broker() -> None:
    with scripted() as broker, Cluster(quick(broker.endpoint)) as cluster:
        assert cluster.ask_any(MetadataRequest(None)).topics


def test_a_top_level_error_of_a_response_is_retried_or_raised() -> None:
    with scripted(at_most={MetadataRequest: 13}) as broker:
        answers: list[MetadataResponse] = [MetadataResponse(error_code=129), broker.metadata()]
        broker.handlers[MetadataRequest] = lambda _: answers.pop(0)
        with Cluster(quick(broker.endpoint)) as cluster:
            assert cluster.topics(["t"]) == {"t": [0]}
            answers.append(MetadataResponse(error_code=31))
            with pytest.raises(SourceError, match="CLUSTER_AUTHORIZATION_FAILED"):
                cluster.topics(["t"])


def test_creating_a_topic_waits_until_each_partition_has_a_leader() -> None:
    def of(broker: Scripted, code: int) -> MetadataResponse:
        answer = broker.metadata()
        answer.topics = [MetadataResponseTopic(code, "t")]
        return answer

    with scripted() as broker:
        answers = [
            of(broker, 3),
            of(broker, 5),
            broker.metadata(leader_id=-1, error_code=5),
            broker.metadata(),
        ]
        broker.handlers[MetadataRequest] = lambda _: answers.pop(0)
        with Cluster(quick(broker.endpoint)) as cluster:
            assert cluster.topics(["t"], create=True) == {"t": [0]}

        assert all(
            request.allow_auto_topic_creation for request in broker.requests(MetadataRequest)
        )
