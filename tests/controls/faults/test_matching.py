"""Conditions about parts, and triggers, one by one."""

from random import Random

import pytest
from trio.testing import MockClock

from trio_kafka.controls.faults import FaultRule
from trio_kafka.controls.faults.matching import Trigger, names_match
from trio_kafka.controls.faults.parts import Names

ALL = Names(topic="orders-1", partition=2, group="g", transactional_id="x")


@pytest.mark.parametrize(
    ("rule", "matches"),
    [
        (FaultRule(observe=True), True),
        (FaultRule(observe=True, topic="orders-*"), True),
        (FaultRule(observe=True, topic="orders"), False),
        (FaultRule(observe=True, topic="orders-*", partition=2), True),
        (FaultRule(observe=True, topic="orders-*", partition=1), False),
        (FaultRule(observe=True, partition=2, group="g", transactional_id="x"), True),
        (FaultRule(observe=True, group="h"), False),
        (FaultRule(observe=True, transactional_id="y*"), False),
    ],
)
def test_rule_matches_a_part_only_if_all_its_conditions_hold(
    rule: FaultRule, matches: bool
) -> None:
    assert names_match(rule, ALL) is matches


def test_a_part_without_a_name_matches_no_pattern() -> None:
    for name in ("topic", "group", "transactional_id"):
        assert not names_match(FaultRule(observe=True, **{name: "*"}), Names(partition=1))  # type: ignore[arg-type]
    assert not names_match(FaultRule(observe=True, partition=0), Names(topic="t"))


async def test_a_delay_is_drawn_between_its_bounds(autojump_clock: MockClock) -> None:
    drawn = [Trigger(FaultRule(delay_s=(1, 2)), Random("seed")).draw_delay_s() for _ in range(2)]
    several = Trigger(FaultRule(delay_s=(1, 2)), Random("seed"))

    assert drawn[0] == drawn[1]
    assert all(1 <= several.draw_delay_s() <= 2 for _ in range(50))
    assert Trigger(FaultRule(delay_s=3), Random()).draw_delay_s() == 3


async def test_rule_no_longer_applies_after_its_maximum_number_of_hits(
    autojump_clock: MockClock,
) -> None:
    trigger = Trigger(FaultRule(observe=True, times=1), Random())

    assert (trigger.see(), trigger.is_spent) == (True, False)
    trigger.hits += 1
    assert (trigger.see(), trigger.is_spent, trigger.seen) == (False, True, 2)
