"""Kafka's own kafka-consumer-groups: it lists, describes, resets and deletes groups."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.build import class_path
from tests.clients.catalogue import REFERENCE
from tests.clients.cluster import Cluster
from tests.clients.console.program import run
from tests.clients.members import Group
from tests.clients.records import many
from tests.installed import skipped_if_missing

# A JVM for each question.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
PARTITIONS, EACH = 3, 20


def ask(group: Group, *arguments: str) -> str:
    return run(TOOL, "--bootstrap-server", group.bootstrap, *arguments)


def offsets(group: Group) -> dict[int, tuple[str, str, str]]:
    """Committed offset, end and lag of each partition."""
    printed = ask(group, "--describe", "--group", group.name)
    result = re.findall(rf"{group.topic}\s+(\d+)\s+(\S+)\s+(\S+)\s+(\S+)", printed)
    return {int(partition): (current, end, lag) for partition, current, end, lag in result}


def test_kafka_consumer_groups_lists_describes_resets_and_deletes_groups(
    clusters: Callable[[str], Cluster], tmp_path: Path
) -> None:
    with skipped_if_missing():
        class_path("tools")
    cluster = clusters(REFERENCE.name)
    topic = cluster.new_topic(PARTITIONS)
    cluster.produce(topic, [record for n in range(PARTITIONS) for record in many(EACH, n)])
    all_read = dict.fromkeys(range(PARTITIONS), (str(EACH), str(EACH), "0"))
    with Group(cluster.bootstrap, topic, tmp_path) as group:
        member = group.add(REFERENCE)
        group.wait_processed(PARTITIONS * EACH)

        assert group.name in ask(group, "--list").split()
        by_state = ask(group, "--list", "--state", "stable")
        assert re.search(rf"{group.name}\s+Stable", by_state)
        assert group.name not in ask(group, "--list", "--state", "empty")
        members = ask(group, "--describe", "--group", group.name, "--members", "--verbose")
        assert re.search(rf"{group.name}\s+rdkafka-\S+\s+/127\.0\.0\.1\s+rdkafka\s+3\s", members)
        assert f"{topic}:0,1,2" in members
        state = ask(group, "--describe", "--group", group.name, "--state")
        assert re.search(r"range\s+Stable\s+.*\b1\b", state)
        assert offsets(group) == all_read
        assert "The group is not empty" in ask(group, "--delete", "--group", group.name)

        member.leave()
        at = ("--group", group.name, "--topic", topic)
        ask(group, "--reset-offsets", *at, "--to-offset", "5", "--execute")
        moved = dict.fromkeys(range(PARTITIONS), ("5", str(EACH), str(EACH - 5)))
        assert offsets(group) == moved
        ask(group, "--delete-offsets", "--group", group.name, "--topic", f"{topic}:1")
        assert sorted(offsets(group)) == [0, 2]
        ask(group, "--delete", "--group", group.name)

        assert group.name not in ask(group, "--list").split()
