"""Groups and their members in the tree."""

from tests.coordinators.groups.classic.kit import GROUP, ClassicKit
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.introspect.tree import Node


def nodes(groups: Groups) -> list[Node]:
    root = Node("shard", "part")
    return [node for top in groups.nodes(root) for _, node in top.walk()]


def seen(groups: Groups) -> list[str]:
    return [node.path for node in nodes(groups)]


def test_inspection_tree_shows_each_group_with_its_members() -> None:
    kit = ClassicKit()
    leader, follower = kit.stable()
    kit.driver.machine.group_or_simple("simple")

    assert seen(kit.driver.machine) == [
        f"shard/{GROUP}",
        f"shard/{GROUP}/{leader}",
        f"shard/{GROUP}/{follower}",
        "shard/simple",
    ]
    kinds = [node.kind for node in nodes(kit.driver.machine)]
    assert kinds == ["group", "member", "member", "group"]


def test_inspection_tree_shows_a_bounded_number_of_groups_and_members() -> None:
    kit = ClassicKit()
    members = kit.stable(103)
    for number in range(200):
        kit.driver.machine.group_or_simple(f"g{number}")

    result = seen(kit.driver.machine)

    assert result[100] == f"shard/{GROUP}/{members[99]}"
    assert result[101] == f"shard/{GROUP}/3 more members"
    assert result[-1] == "shard/1 more groups"
    assert len(result) == 1 + 101 + 199 + 1
