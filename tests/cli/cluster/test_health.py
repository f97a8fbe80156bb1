"""`trio-kafka cluster health`."""

import json

from tests.cli.kit import Shell
from trio_kafka.cli.cluster.health import as_text, health_of
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataResponsePartition,
    MetadataResponseTopic,
)


def test_healthy_cluster_has_the_status_0(shell: Shell) -> None:
    shell.kafka.create_topic("well")

    assert json.loads(shell.run("cluster", "health", "--json"))["healthy"] is True
    assert b"all with a leader and all replicas" in shell.run("cluster", "health")


def test_partitions_without_leader_or_replicas_are_named() -> None:
    topic = MetadataResponseTopic(
        name="ill",
        partitions=[
            MetadataResponsePartition(partition_index=0, leader_id=-1),
            MetadataResponsePartition(
                partition_index=1, leader_id=1, replica_nodes=[1, 2], isr_nodes=[1]
            ),
            MetadataResponsePartition(
                partition_index=2, leader_id=1, replica_nodes=[1], isr_nodes=[1]
            ),
        ],
    )

    answer = health_of([topic])

    assert answer.problems == [
        ("ill", 0, "offline: no leader"),
        ("ill", 1, "1 of 2 replicas in sync"),
    ]
    assert next(as_text(answer)) == "1 topics, 3 partitions: 2 of them with problems"
