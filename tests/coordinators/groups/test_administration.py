"""Which groups are listed."""

from functools import partial

import pytest

from tests.coordinators.groups.classic.kit import GROUP, ClassicKit
from trio_kafka.coordinators.groups.administration import GroupFilter, ListedGroup, list_groups
from trio_kafka.scheduling.chunked_work import step


@pytest.mark.parametrize(
    ("states", "types", "expected"),
    [
        ((), (), True),
        (["stable"], (), True),
        (["PREPARINGREBALANCE", " Stable "], ["CLASSIC"], True),
        (["Empty"], (), False),
        (["Stable"], ["consumer"], False),
        ((), ["nonsense"], False),
        ([""], (), False),
    ],
)
def test_groups_are_filtered_by_state_and_type(
    states: list[str], types: list[str], expected: bool
) -> None:
    assert GroupFilter(states, types).wants("Stable", "classic") is expected


def test_listed_groups_have_protocol_type_state_and_group_type() -> None:
    kit = ClassicKit()
    kit.stable(1)
    kit.driver.machine.group_or_simple("simple")

    result = kit.driver.ask(partial(list_groups, GroupFilter()))

    assert result == [
        ListedGroup(GROUP, "consumer", "Stable", "classic"),
        ListedGroup("simple", "", "Empty", "classic"),
    ]


def test_many_groups_are_listed_in_steps_while_groups_are_removed() -> None:
    kit = ClassicKit()
    groups = kit.driver.machine
    for number in range(1000):
        groups.group_or_simple(str(number))
    steps = list_groups(GroupFilter(), groups, "ticket", 0)
    count = 0

    while (done := step(steps)) is None:
        count += 1
        groups.by_id.pop(str(count), None)

    [(ticket, result)] = done.value.answers
    assert (ticket, len(result)) == ("ticket", 1000)
    assert count == 5
