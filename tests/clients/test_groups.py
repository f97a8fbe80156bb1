"""Groups of every client under churn: members join, leave and die by kill -9; nothing is lost."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.catalogue import CLIENTS, Client
from tests.clients.churn import PARTITIONS, Producing, check_churn, group_of
from tests.clients.cluster import Cluster
from tests.clients.members import check_processed
from tests.lanes import sampled

# Programs are built at their first use; a member that dies is missed after three seconds.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

Clusters = Callable[[str], Cluster]
Size = Callable[[int, int], int]
MEMBERS = [client for client in CLIENTS.values() if client.can("subscribe")]


@pytest.mark.parametrize(
    # The next test has the other clients, in one group.
    "client",
    sampled(MEMBERS, lambda client: client.name == "confluent"),
    ids=[client.name for client in MEMBERS],
)
def test_every_record_is_processed_while_members_join_leave_and_are_killed(
    clusters: Clusters, client: Client, tmp_path: Path, size: Size
) -> None:
    check_churn(clusters("confluent"), client, tmp_path, size(50, 2000))


def test_different_clients_with_the_range_assignor_share_one_group(
    clusters: Clusters, tmp_path: Path, size: Size
) -> None:
    """All that can agree on a way to assign."""
    cluster = clusters("confluent")
    topic = cluster.new_topic(PARTITIONS)
    producing = Producing(cluster, topic, size(50, 2000))
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
