"""Schedules: plain values that are checked, and drawn from a seed."""

import json
from random import Random

import pytest

from trio_kafka.testing.simulate.schedule import ARGUMENTS, KINDS, check_schedule, draw_schedule


def test_faults_are_sorted_by_time_and_survive_json():
    faults = [(2, "kill", 1.0), (0.5, "lose_power_at", "sync", "*.log", 3, 0.0, 1.0)]

    checked = check_schedule(json.loads(json.dumps(faults)))

    assert checked == [faults[1], faults[0]]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ((1.0,), r"want \(time, kind, arguments...\)"),
        ((1.0, "melt"), "unknown kind of fault 'melt': want one of lose_power, "),
        ((-1, "kill", 1.0), "kill: time=-1, want 0 to 3600"),
        ((0, "kill"), "kill: 0 arguments, want 1: down_s"),
        ((0, "half_open", 1), "half_open: 1 arguments, want 0: none"),
        ((0, "kill", "soon"), "kill: down_s='soon', want a number"),
        ((0, "lose_power", 2, 1), "lose_power: kept=2, want 0 to 1"),
        ((0, "fail_disk", "melt", 1), "fail_disk: call='melt', want one of"),
        ((0, "fill_disk", 0.5, 1), "fill_disk: left_bytes=0.5, want a number"),
        ((0, "lose_power_at", "sync", 5, 1, 0, 1), "target=5, want a pattern such as"),
    ],
)
def test_wrong_fault_of_a_schedule_is_reported_with_its_field(fault, message):
    with pytest.raises(ValueError, match=message):
        check_schedule([fault])


@pytest.mark.parametrize("group", KINDS)
def test_drawn_faults_are_valid_and_the_same_for_the_same_seed(group):
    drawn = [draw_schedule(Random(n), {group}, within_s=5.0, most=4) for n in range(100)]

    assert drawn == [draw_schedule(Random(n), {group}, within_s=5.0, most=4) for n in range(100)]
    assert {fault[1] for faults in drawn for fault in faults} == set(KINDS[group])
    assert all(1 <= len(faults) <= 4 for faults in drawn)
    assert all(0 <= fault[0] <= 5 for faults in drawn for fault in faults)


def test_every_kind_of_fault_has_a_unique_name():
    assert len(ARGUMENTS) == sum(len(kinds) for kinds in KINDS.values())
