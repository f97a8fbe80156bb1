"""Facts of the groups of a machine without a broker."""

from collections.abc import Callable

from trio_kafka.coordinators.groups.facts.group_facts import group_facts
from trio_kafka.coordinators.groups.facts.view import GroupView
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.lag import EndOf
from trio_kafka.introspect.facts.groups import GroupFacts, MemberFacts
from trio_kafka.scheduling.chunked_work import whole
from trio_kafka.testing.machines import MachineDriver


def view_of(
    driver: MachineDriver[Groups], may_describe: Callable[[str], bool] = lambda topic: True
) -> GroupView:
    """A look at a group with the timers and the time of a driver."""

    def left_s(key: tuple[object, ...]) -> float | None:
        left_ms = driver.timers.get(key)
        return None if left_ms is None else left_ms / 1000

    return GroupView(
        now_ms=driver.now_ms,
        left_s=left_s,
        settings=driver.machine.settings,
        image=driver.machine.image,
        may_describe=may_describe,
    )


def facts_of(
    driver: MachineDriver[Groups],
    end_of: EndOf = lambda topic, partition: 10,
    may_describe: Callable[[str], bool] = lambda topic: True,
) -> GroupFacts:
    """Facts of the group `g`."""
    facts = whole(group_facts(driver.machine, "g", view_of(driver, may_describe), end_of))
    assert facts is not None
    return facts


def members_of(driver: MachineDriver[Groups]) -> dict[str, MemberFacts]:
    """Facts of the members of the group `g`, by id."""
    return {member.member_id: member for member in facts_of(driver).members}
