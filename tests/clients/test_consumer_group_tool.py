"""Kafka's own kafka-consumer-groups sees members of KIP-848, with what they have and shall have."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.build import class_path
from tests.clients.catalogue import REFERENCE
from tests.clients.cluster import Cluster
from tests.clients.members import Group
from tests.clients.records import many
from tests.clients.test_group_tool import EACH, PARTITIONS, ask, offsets
from tests.installed import skipped_if_missing

# A JVM for each question.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def test_kafka_consumer_groups_describes_and_deletes_consumer_groups(
    clusters: Callable[[str], Cluster], tmp_path: Path
) -> None:
    with skipped_if_missing():
        class_path("tools")
    cluster = clusters(REFERENCE.name)
    topic = cluster.new_topic(PARTITIONS)
    cluster.produce(topic, [record for n in range(PARTITIONS) for record in many(EACH, n)])
    with Group(cluster.bootstrap, topic, tmp_path) as group:
        group.protocol = "consumer"
        member = group.add(REFERENCE)
        group.wait_processed(PARTITIONS * EACH)

        by_type = ask(group, "--list", "--type", "consumer")
        assert re.search(rf"{group.name}\s+Consumer", by_type)
        assert group.name not in ask(group, "--list", "--type", "classic")
        epoch, target_epoch = state(group, "Stable", members=1)
        members = ask(group, "--describe", "--group", group.name, "--members", "--verbose")
        match = re.search(
            rf"{group.name}\s+\S+\s+/127\.0\.0\.1\s+rdkafka\s+{PARTITIONS}"
            rf"\s+(\d+)\s+{topic}:0,1,2\s+(\d+)\s+{topic}:0,1,2",
            members,
        )
        assert match is not None, members
        assert match.groups() == (epoch, target_epoch) == (epoch, epoch)
        assert offsets(group) == dict.fromkeys(range(PARTITIONS), (str(EACH), str(EACH), "0"))
        assert "The group is not empty" in ask(group, "--delete", "--group", group.name)

        member.leave()
        later, _ = state(group, "Empty", members=0)
        assert int(later) > int(epoch)
        ask(group, "--delete", "--group", group.name)

        assert group.name not in ask(group, "--list").split()


def state(group: Group, name: str, members: int) -> tuple[str, str]:
    """The epochs of the group and of its assignment, of a group in that state."""
    response = ask(group, "--describe", "--group", group.name, "--state", "--verbose")
    match = re.search(rf"uniform\s+{name}\s+(\d+)\s+(\d+)\s+{members}\s", response)
    assert match is not None, response
    return match[1], match[2]
