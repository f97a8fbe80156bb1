"""Replicas are found by name and by id; a miss has the error that a client understands."""

from tests.replication.kit import (
    open_cluster,
    refused,
    state,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicId


async def test_unknown_partition_unknown_topic_id_and_foreign_leader_have_different_errors(
    world,
) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1), 1: state(2, leader=2), 2: state(1, 2, leader=2)})

    assert refused(cluster, "u") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert refused(cluster, TopicId(bytes(16))) is ErrorCode.UNKNOWN_TOPIC_ID
    assert refused(cluster, "t", 3) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    code = refused(cluster, cluster.topic_id("t"), 3)
    assert code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert refused(cluster, "t", 1) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert refused(cluster, "t", 2) is ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_tree_shows_each_partition_until_its_deletion(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    node = cluster.replicas.node

    assert {child.kind for _, child in node.walk() if "-0" in child.name} == {"partition"}
    shown = {child.name: child.figures() for _, child in node.walk()}
    assert shown["t-0"]["leader"] == 1
    assert shown["replica-manager"]["leaders"] == 1
    assert {"Produce", "Fetch", "fetch-sessions", "cold-reads"} <= shown.keys()
    cluster.change(t=None)
    assert "t-0" not in {child.name for _, child in node.walk()}
