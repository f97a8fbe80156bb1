"""Groups in which clients have members."""

from tests.coordinators.groups.classic.kit import ClassicKit
from tests.coordinators.groups.consumer.kit import Scene
from trio_kafka.coordinators.groups.facts.client_groups import groups_of_clients
from trio_kafka.scheduling.chunked_work import step, whole


def test_client_is_found_in_groups_of_both_protocols() -> None:
    classic, scene = ClassicKit(), Scene({"a": 1})
    classic.stable(client="shop")
    scene.join("m1", "a", client_id="shop")
    scene.join("m2", "a", client_id="mail")
    other = ClassicKit()
    other.stable(client="mail")
    other.group.group_id = "h"
    machines = [classic.driver.machine, scene.driver.machine, other.driver.machine]

    groups = whole(groups_of_clients(machines, {"shop", "mail"}, lambda group_id: True, 9))
    shop = whole(groups_of_clients(machines, {"shop"}, lambda group_id: True, 9))
    hidden = whole(groups_of_clients(machines, {"shop"}, lambda group_id: group_id != "g", 9))

    assert set(groups) == {"shop", "mail"}
    assert shop == {"shop": ("g",)}
    assert hidden == {}


def test_groups_of_a_client_are_bounded() -> None:
    first, second = ClassicKit(), ClassicKit()
    first.stable(client="shop")
    second.stable(client="shop")
    second.group.group_id = "h"
    machines = [first.driver.machine, second.driver.machine]

    groups = whole(groups_of_clients(machines, {"shop"}, lambda group_id: True, 1))

    assert groups == {"shop": ("g",)}


def test_many_members_are_searched_in_steps() -> None:
    kit = ClassicKit()
    kit.stable(600, client="shop")
    steps = groups_of_clients([kit.driver.machine], {"shop"}, lambda group_id: True, 9)

    count = 1
    while step(steps) is None:
        count += 1

    assert count >= 3
