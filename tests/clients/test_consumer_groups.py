"""Groups of KIP-848 under churn, alone and beside the classic protocol: nothing is lost."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.catalogue import CLIENTS, Client
from tests.clients.churn import PARTITIONS, Producing, check_churn, group_of
from tests.clients.cluster import Cluster
from tests.clients.members import Group, Member, check_processed, whole_rows
from tests.lanes import sampled

# Programs are built at their first use; a member that dies is missed after three seconds.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

Size = Callable[[int, int], int]
MEMBERS = [client for client in CLIENTS.values() if client.consumer_protocol]
SAMPLE = sampled(MEMBERS, lambda client: client.name == "confluent")


@pytest.mark.parametrize("client", SAMPLE, ids=[client.name for client in MEMBERS])
def test_every_record_is_processed_while_members_join_leave_and_are_killed(
    quick_cluster: Cluster, client: Client, tmp_path: Path, size: Size
) -> None:
    check_churn(quick_cluster, client, tmp_path, size(50, 2000), "consumer")


@pytest.mark.parametrize("client", SAMPLE, ids=[client.name for client in MEMBERS])
def test_members_migrate_one_by_one_to_the_consumer_protocol_and_back(
    quick_cluster: Cluster, client: Client, tmp_path: Path, size: Size
) -> None:
    topic = quick_cluster.new_topic(PARTITIONS)
    producing = Producing(quick_cluster, topic, size(50, 2000))
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


@pytest.mark.parametrize("client", SAMPLE, ids=[client.name for client in MEMBERS])
def test_assigned_partitions_stay_with_members_when_others_join_and_leave(
    quick_cluster: Cluster, client: Client, tmp_path: Path, size: Size
) -> None:
    topic = quick_cluster.new_topic(PARTITIONS)
    producing = Producing(quick_cluster, topic, size(20, 200))
    with group_of(quick_cluster, topic, tmp_path) as group:
        group.protocol = "consumer"
        old = [group.add(client), group.add(client)]
        had = read_by_all(group, old, producing)

        third = group.add(client)
        shared = read_by_all(group, [*old, third], producing)
        for member in old:
            assert shared[member.file] < had[member.file], "it gives up, and gets nothing new"
        third.leave()
        # Who is left gets what the third one had; until then it has what it had.
        while len(set().union(*(result := read(group, old, producing)).values())) < PARTITIONS:
            pass
        for member in old:
            assert result[member.file] >= shared[member.file]

        check_processed(group, producing.file)


def read_by_all(group: Group, members: list[Member], producing: Producing) -> dict[Path, set[int]]:
    """Which partitions each of them reads, when all of them have as many as they are to have."""
    while True:
        result = read(group, members, producing)
        if all(len(numbers) == PARTITIONS // len(members) for numbers in result.values()):
            return result


def read(group: Group, members: list[Member], producing: Producing) -> dict[Path, set[int]]:
    """Which partitions each of them reads now, by its file."""
    before = {member.file: len([*whole_rows(member.file)]) for member in members}
    producing.some_more()
    group.wait_processed(producing.count)
    return {file: {row[0] for row in [*whole_rows(file)][count:]} for file, count in before.items()}
