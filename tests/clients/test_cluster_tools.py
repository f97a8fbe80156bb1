"""Kafka's own tools for quorum, leaders, brokers and client metrics, and stock clients that push.

kafka-metadata-quorum, kafka-leader-election, kafka-cluster, kafka-client-metrics, kafka-configs.
"""

import time
from collections.abc import Callable, Iterator

import confluent_kafka
import pytest

from tests.clients.build import class_path
from tests.clients.console.program import run
from tests.clients.program import StepError
from tests.installed import skipped_if_missing
from trio_kafka.model import Endpoint
from trio_kafka.peers.blocking import connected
from trio_kafka.protocol.messages.k10005_describe_client_metrics import (
    DescribeClientMetricsRequest,
    PushingClient,
)
from trio_kafka.testing.kafka.threaded import Kafka, running_broker

# A JVM for all questions.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

WAIT_S = 30.0
JAVA = "org.apache.kafka.producer.record.send.total"


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    with skipped_if_missing():
        class_path("tools")
    with running_broker() as kafka:
        kafka.create_topic("orders", partitions=2)
        yield kafka


def ask(kafka: Kafka, tool: str, *arguments: str) -> str:
    return run(tool, "--bootstrap-server", kafka.bootstrap, *arguments)


def pushing(kafka: Kafka, client_id: str) -> PushingClient | None:
    """The client of that id, if it has pushed."""
    host, _, port = kafka.bootstrap.rpartition(":")
    deadline = time.monotonic() + WAIT_S
    with connected(Endpoint(host, int(port)), deadline=deadline, client_id="me") as connection:
        answer = connection.ask(
            DescribeClientMetricsRequest(client_id=client_id), deadline=deadline
        )
    return next((client for client in answer.clients if client.pushes), None)


def wait_pushing(
    kafka: Kafka, client_id: str, work: Callable[[], object] = lambda: time.sleep(0.05)
) -> dict[str, float]:
    """Values of a client by name, as soon as it has pushed."""
    deadline = time.monotonic() + WAIT_S
    while (client := pushing(kafka, client_id)) is None or not client.metrics:
        assert time.monotonic() < deadline
        work()
    return {metric.name: metric.value for metric in client.metrics}


def test_kafka_metadata_quorum_describes_status_and_replication(kafka: Kafka) -> None:
    status = ask(kafka, "MetadataQuorumCommand", "describe", "--status")
    replication = ask(kafka, "MetadataQuorumCommand", "describe", "--replication")

    assert "LeaderId:               1" in status
    assert "MaxFollowerLag:         0" in status
    assert '"id": 1' in status
    (row,) = [line.split() for line in replication.splitlines() if "Leader" in line]
    assert (row[0], row[3]) == ("1", "0")


def test_kafka_leader_election_says_that_none_is_needed(kafka: Kafka) -> None:
    named = ("--topic", "orders", "--partition", "0")
    printed = ask(kafka, "LeaderElectionCommand", "--election-type", "preferred", *named)
    everywhere = ("--election-type", "unclean", "--all-topic-partitions")
    of_all = ask(kafka, "LeaderElectionCommand", *everywhere)

    assert "Valid replica already elected for partitions orders-0" in printed
    assert "error" not in of_all.lower()


def test_kafka_cluster_does_not_unregister_the_broker_that_is_asked(kafka: Kafka) -> None:
    cluster = run("ClusterTool", "cluster-id", "--bootstrap-server", kafka.bootstrap)
    with pytest.raises(StepError, match="broker 1 is alive"):
        run("ClusterTool", "unregister", "--bootstrap-server", kafka.bootstrap, "--id", "1")

    assert "Cluster ID:" in cluster
    assert kafka.topics


def test_stock_clients_push_what_kafka_client_metrics_has_subscribed_to(kafka: Kafka) -> None:
    metrics = ("--metrics", "org.apache.kafka.producer.", "--interval", "200")
    ask(kafka, "ClientMetricsCommand", "--alter", "--name", "mine", *metrics)
    listed = ask(kafka, "ClientMetricsCommand", "--list")
    described = ask(kafka, "ClientMetricsCommand", "--describe", "--name", "mine")
    by_configs = ask(
        kafka,
        "kafka.admin.ConfigCommand",
        *("--entity-type", "client-metrics", "--entity-name", "mine", "--describe"),
    )
    run(
        "ProducerPerformance",
        *("--topic", "orders", "--num-records", "20", "--record-size", "10", "--throughput", "10"),
        *("--producer-props", f"bootstrap.servers={kafka.bootstrap}", "client.id=java"),
    )
    java = wait_pushing(kafka, "java")
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": kafka.bootstrap, "client.id": "librdkafka"}
    )
    librdkafka = wait_pushing(kafka, "librdkafka", lambda: producer.poll(0.05))
    ask(kafka, "ClientMetricsCommand", "--delete", "--name", "mine")
    after = ask(kafka, "ClientMetricsCommand", "--list")

    assert listed.split() == ["mine"]
    assert "interval.ms=200" in described
    assert "interval.ms=200" in by_configs
    assert 0 < java[JAVA] <= 20  # a client that closes while its machine is busy gives up a push
    assert any(name.startswith("org.apache.kafka.producer.connection") for name in librdkafka)
    assert after.split() == []
