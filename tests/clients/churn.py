"""Churn for groups of clients: records are written little by little, members come and go."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.clients.catalogue import Client
from tests.clients.cluster import Cluster
from tests.clients.members import Group, check_processed
from tests.clients.records import Record, many
from tests.installed import skipped_if_missing

PARTITIONS = 6


@contextmanager
def group_of(cluster: Cluster, topic: str, directory: Path) -> Iterator[Group]:
    with skipped_if_missing(), Group(cluster.bootstrap, topic, directory) as group:
        yield group


class Producing:
    """Records that are written to a topic little by little, all of them in one file."""

    def __init__(self, cluster: Cluster, topic: str, each: int) -> None:
        self._cluster, self._topic, self._each = cluster, topic, each
        self.count = 0
        self.file = cluster.file()

    def some_more(self) -> None:
        """To every partition."""
        records: list[Record] = []
        for partition in range(PARTITIONS):
            records += many(self._each, partition)
        written = self._cluster.produce(self._topic, records)
        with self.file.open("a") as file:
            file.write(written.file.read_text())
        self.count += len(records)


def check_churn(
    cluster: Cluster, client: Client, directory: Path, each: int, protocol: str = "classic"
) -> None:
    """Members of one client join, leave and die while `each` records go to each partition again
    and again. AssertionError where one is lost, or is read again though it was committed.
    """
    topic = cluster.new_topic(PARTITIONS)
    producing = Producing(cluster, topic, each)
    with group_of(cluster, topic, directory) as group:
        group.protocol = protocol
        first, second = group.add(client), group.add(client)
        producing.some_more()
        group.wait_processed(producing.count)
        third = group.add(client)
        producing.some_more()
        first.kill()
        producing.some_more()
        group.wait_processed(producing.count)
        fourth = group.add(client)
        producing.some_more()
        second.leave()
        producing.some_more()
        group.wait_processed(producing.count)
        third.leave()
        fourth.leave()
        before = producing.count
        producing.some_more()
        late = group.add(client)
        group.wait_processed(producing.count)

        # All that the others have processed was committed, and nothing else.
        assert late.leave() == producing.count - before
        check_processed(group, producing.file)
