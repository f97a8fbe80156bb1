"""Groups of KIP-848 under churn, alone and beside the classic protocol: nothing is lost."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.catalogue import CLIENTS, Client
from tests.clients.churn import PARTITIONS, Producing, check_churn, group_of
from tests.clients.cluster import Cluster
from tests.clients.members import check_processed

# Programs are built at their first use; a member that dies is missed after six seconds.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

Size = Callable[[int, int], int]
MEMBERS = [client for client in CLIENTS.values() if client.consumer_protocol]


@pytest.mark.parametrize("client", MEMBERS, ids=[client.name for client in MEMBERS])
def test_every_record_is_processed_while_members_come_go_and_die(
    quick_cluster: Cluster, client: Client, tmp_path: Path, size: Size
) -> None:
    check_churn(quick_cluster, client, tmp_path, size(100, 2000), "consumer")


@pytest.mark.parametrize("client", MEMBERS, ids=[client.name for client in MEMBERS])
def test_members_change_the_protocol_one_by_one_and_back(
    quick_cluster: Cluster, client: Client, tmp_path: Path, size: Size
) -> None:
    topic = quick_cluster.new_topic(PARTITIONS)
    producing = Producing(quick_cluster, topic, size(100, 2000))
    with group_of(quick_cluster, topic, tmp_path) as group:
        old = [group.add(client), group.add(client)]
        producing.some_more()
        group.wait_processed(producing.count)

        group.protocol = "consumer"  # the first of these has the group upgraded
        new = [group.add(client)]
        producing.some_more()
        group.wait_processed(producing.count)
        old.pop().leave()
        new.append(group.add(client))
        producing.some_more()
        old.pop().kill()
        group.wait_processed(producing.count)

        group.protocol = "classic"
        back = group.add(client)
        producing.some_more()
        new.pop().leave()
        group.wait_processed(producing.count)
        new.pop().leave()  # the last of these has the group downgraded
        producing.some_more()
        group.wait_processed(producing.count)
        back.leave()

        check_processed(group, producing.file)
