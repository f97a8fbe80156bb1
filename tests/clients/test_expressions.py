"""Members that read by an expression, under churn: topics appear, and no record of them is lost."""

import base64
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from tests.clients.catalogue import CLIENTS, Client
from tests.clients.churn import group_of
from tests.clients.cluster import Cluster
from tests.clients.records import Record
from tests.lanes import sampled

# Programs are built at their first use; what an expression matches is looked up each ten seconds.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

Size = Callable[[int, int], int]
PARTITIONS = 3
MEMBERS = [
    (client, protocol)
    for client in CLIENTS.values()
    for protocol in ("classic", "consumer")
    if client.can("subscribe")
    and client.new_topics
    and (client.consumer_protocol or protocol == "classic")
]
SAMPLE = {("confluent", "consumer")}


class Topics:
    """Topics whose names begin alike, and what was written to them: each value is another one."""

    def __init__(self, cluster: Cluster, each: int) -> None:
        self._cluster, self._each = cluster, each
        self._stem = f"seen-{uuid4().hex[:8]}"
        self._names: list[str] = []
        self.expression = f"^{self._stem}-.*"
        self.values: set[str] = set()
        # None of its records is to be read.
        cluster.new_topic(PARTITIONS, name=f"un{self._stem}-x")
        self._write(f"un{self._stem}-x", "unseen")
        self.values.clear()

    def appear(self) -> None:
        """One more."""
        name = f"{self._stem}-{len(self._names)}"
        self._names.append(self._cluster.new_topic(PARTITIONS, name=name))

    def some_more(self) -> None:
        """Records in each partition of each of them."""
        for name in self._names:
            self._write(name, f"{name} {len(self.values)}")

    def _write(self, topic: str, text: str) -> None:
        records = [
            Record(partition=partition, value=f"{text} {partition} {number}".encode())
            for partition in range(PARTITIONS)
            for number in range(self._each)
        ]
        self._cluster.produce(topic, records)
        self.values |= {base64.b64encode(record.value or b"").decode() for record in records}


@pytest.mark.parametrize(
    # One whose expression the broker matches; others match it by themselves.
    ("client", "protocol"),
    sampled(MEMBERS, lambda member: (member[0].name, member[1]) in SAMPLE),
    ids=[f"{client.name}-{how}" for client, how in MEMBERS],
)
def test_records_of_new_matching_topics_are_processed_while_members_join_leave_and_die(
    quick_cluster: Cluster, client: Client, protocol: str, tmp_path: Path, size: Size
) -> None:
    topics = Topics(quick_cluster, size(25, 1000))
    with group_of(quick_cluster, topics.expression, tmp_path) as group:
        group.protocol, group.expression = protocol, True
        topics.appear()
        first, second = group.add(client), group.add(client)
        topics.some_more()
        group.wait_values(len(topics.values))

        def die_and_join() -> None:
            group.add(client)
            first.kill()

        # Clients look for new topics every now and then: each of these takes a while.
        changes = (die_and_join, second.leave, lambda: group.add(client))
        for change in changes[: size(1, 3)]:
            topics.appear()
            change()
            topics.some_more()
            group.wait_values(len(topics.values))

        assert group.values() == topics.values
