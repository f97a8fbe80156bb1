"""Stages to which handlers send a request."""

from typing import Any

from tests.trio_kafka_admin.findings.kit import (
    directory,
    group,
    lag,
    member,
    moment,
    node,
    request,
    sync,
    wait,
)
from trio_kafka_admin.findings.change import Change
from trio_kafka_admin.landing.branches import branch_stages
from trio_kafka_admin.landing.stage import Stage

BYTES = wait("bytes", "partition", "rare-0", "12 of 100 bytes from rare-0")
MEMBER = wait("member", "member", "g/a", "member a has not rejoined")


def stages(*requests: Any, nodes: Any = (), **facts: Any) -> dict[str, Stage]:
    change = Change(None, moment(1.0, *nodes, **facts))
    return {stage.name: stage for stage in branch_stages(change, requests, is_shared=True)}


def test_parked_requests_stand_by_api_and_say_what_they_wait_for() -> None:
    requests = [
        request("Fetch", "export", age_s=26.6, why=(BYTES,)),
        request("JoinGroup", "settle-b", age_s=51.0, why=(MEMBER,)),
        request("SyncGroup", "new", age_s=1.1, why=(MEMBER,)),
        request("SyncGroup", "newer", age_s=0.1, why=(MEMBER,)),
        request("Produce", stage="handler"),
    ]

    stage = stages(*requests)["parked"]

    assert (stage.count, stage.brief) == (4, "oldest: JoinGroup for 51 s")
    states = {row.label: [dot.state for dot in row.dots] for row in stage.rows}
    assert states == {
        "Fetch": ["parked"],
        "JoinGroup": ["wrong"],
        "SyncGroup": ["watch", "parked"],
    }
    [row] = [row for row in stage.rows if row.label == "Fetch"]
    assert row.dots[0].words == "Fetch of export for 27 s: 12 of 100 bytes from rare-0"
    assert row.words == "oldest 27 s"


def test_groups_stand_with_their_state_and_the_others_are_counted() -> None:
    owes = member("a", owes="has not rejoined")
    groups = [
        group("stuck", state="PreparingRebalance", members=(owes,)),
        group("well", members=(member("b"),), partitions=(lag(0, offset=1, end=3_001),)),
        *(group(f"g{number}") for number in range(5)),
    ]
    nodes = [node("group-coordinator", "part", groups=9)]

    stage = stages(nodes=nodes, groups=groups)["coordinator"]

    assert (stage.count, stage.unit, stage.notes) == (9, "groups", ("4 further groups",))
    assert [(row.label, row.words, row.dots[0].state) for row in stage.rows[:3]] == [
        ("stuck", "PreparingRebalance, 1 member", "wrong"),
        ("well", "1 member, lag 3,000", "good"),
        ("g0", "0 members", "good"),
    ]


def test_directories_stand_with_their_space_and_what_is_wrong() -> None:
    directories = [
        directory("/a"),
        directory("/b", used_share=0.97),
        directory("/c", error="EIO"),
        directory("/d", syncs=(sync(3.0),), used_share=None, free_bytes=None),
    ]
    nodes = [node("replica-manager", "part", partitions=1)]

    stage = stages(nodes=nodes, directories=directories)["log"]

    assert (stage.count, stage.unit, stage.brief) == (1, "partition", "disk 97 % full")
    assert [(row.dots[0].state, row.words) for row in stage.rows] == [
        ("good", "4 logs, disk 50 % full, 100.0 GB free"),
        ("wrong", "4 logs, disk 97 % full, 100.0 GB free"),
        ("wrong", "offline, EIO"),
        ("wrong", "4 logs, 1 sync under way for 3.0 s"),
    ]


def test_lane_that_shares_nothing_has_only_its_parked_requests() -> None:
    change = Change(None, moment(1.0))

    names = [stage.name for stage in branch_stages(change, [], is_shared=False)]

    assert names == ["parked"]
