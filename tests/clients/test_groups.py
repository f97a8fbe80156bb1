"""Groups of every client under churn: members join, leave and die by kill -9; nothing is lost."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.clients.build import MissingError
from tests.clients.catalogue import CLIENTS, Client
from tests.clients.cluster import Cluster
from tests.clients.members import Group, check_processed
from tests.clients.records import Record, many

# Programs are built at their first use; a member that dies is missed after six seconds.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

Clusters = Callable[[str], Cluster]
Size = Callable[[int, int], int]
PARTITIONS = 6
MEMBERS = [client for client in CLIENTS.values() if client.can("subscribe")]


@contextmanager
def group_of(cluster: Cluster, topic: str, directory: Path) -> Iterator[Group]:
    try:
        with Group(cluster.bootstrap, topic, directory) as group:
            yield group
    except MissingError as missing:
        pytest.skip(str(missing))


class Producing:
    """What is written to a topic little by little, all of it in one file."""

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


@pytest.mark.parametrize("client", MEMBERS, ids=[client.name for client in MEMBERS])
def test_every_record_is_processed_while_members_come_go_and_die(
    clusters: Clusters, client: Client, tmp_path: Path, size: Size
) -> None:
    cluster = clusters("confluent")
    topic = cluster.new_topic(PARTITIONS)
    producing = Producing(cluster, topic, size(100, 2000))
    with group_of(cluster, topic, tmp_path) as group:
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


def test_clients_of_all_kinds_share_one_group(
    clusters: Clusters, tmp_path: Path, size: Size
) -> None:
    """All that can agree on a way to assign."""
    cluster = clusters("confluent")
    topic = cluster.new_topic(PARTITIONS)
    producing = Producing(cluster, topic, size(100, 2000))
    with group_of(cluster, topic, tmp_path) as group:
        members = []
        for client in MEMBERS:
            if client.assignor == "range":
                members.append(group.add(client))
                producing.some_more()
        group.wait_processed(producing.count)
        for number, member in enumerate(members[:-1]):
            if number % 2:
                member.kill()
            else:
                member.leave()
            producing.some_more()
        group.wait_processed(producing.count)

        check_processed(group, producing.file)
