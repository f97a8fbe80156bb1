"""Lanes of the picture, from two moments."""

from typing import Any

from tests.trio_kafka_admin.findings.kit import connection, handlers, moment, node
from tests.trio_kafka_admin.landing.kit import finding
from tests.trio_kafka_admin.landing.test_headline import api
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.change import Change
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.landing.lanes import lanes
from trio_kafka_admin.landing.stage import Lane


def plane(name: str, **channel: Any) -> dict[tuple[str, ...], Any]:
    top = f"plane {name}"
    requests = {"bound": 500, "depth": 3, "high_water": 8, "blocked": 2, **channel}
    return {
        **node(top, "plane"),
        **node(f"{top}/request-channel", "part"),
        **node(f"{top}/request-channel/requests", "channel", **requests),
        **node(f"{top}/listener A", "listener"),
        **node(f"{top}/acceptor", "task", accepted=44, blocked=1, blocked_s=0.1),
        **node(f"{top}/listener A/p0", "selector", connections=24),
        **node(f"{top}/listener A/p0/responses", "channel", depth=2),
    }


def drawn(*findings: Finding, nodes: Any = (), **facts: Any) -> list[Lane]:
    now = moment(10.0, *(nodes or (plane("data"), handlers(3))), **facts)
    change = Change(moment(0.0), now)
    load = api(764.0, queue=0.3, local=0.2, response_queue=0.1, send=0.07)
    return lanes(change, findings, [load])


def test_lane_has_all_stages_in_the_order_of_a_request_with_their_figures() -> None:
    [lane] = drawn(connections=[connection(unsent_bytes=2_000)])

    assert (lane.plane, lane.state, lane.per_s) == ("data", "well", 764.0)
    assert [(stage.name, stage.count, stage.unit) for stage in lane.stages] == [
        ("listener", 44, "accepted"),
        ("connections", 24, "open"),
        ("channel", 3, "of 500 places"),
        ("handlers", 3, "of 8 busy"),
        ("parked", 0, "wait for something"),
        ("coordinator", 0, "groups"),
        ("log", 0, "partitions"),
        ("answers", 764.0, "a second"),
    ]
    stages = {stage.name: stage for stage in lane.stages}
    assert stages["listener"].notes == ("A", "held back 1 time")
    assert stages["channel"].notes == ("most so far 8", "full 2 times")
    assert stages["handlers"].rows[1].words == "764.0/s · 0.50 ms"
    assert stages["answers"].notes == [
        "2 answers wait to be sent",
        "2.0 kB not yet read by clients",
        "0.10 ms wait for a processor",
        "0.07 ms to send",
    ]


def test_channel_says_how_long_its_oldest_request_has_waited() -> None:
    [lane] = drawn(nodes=(plane("data", oldest_s=3.0), handlers(0)))

    assert lane.stages[2].notes[0] == "the oldest waits for 3.0 s"


def test_lane_and_stage_are_as_bad_as_their_worst_finding() -> None:
    [lane] = drawn(
        finding("throttled-client", Subject("client", "c"), severity="watch"), finding("lag")
    )

    states = {stage.name: stage.state for stage in lane.stages if stage.state != "well"}
    assert states == {"connections": "watch", "coordinator": "wrong"}
    assert lane.state == "wrong"


def test_planes_are_lanes_and_findings_stand_in_their_own() -> None:
    full = finding("full-channel", Subject("channel", "request-channel of plane controller"))
    web = node("plane http", "plane")

    first, second = drawn(full, finding("lag"), nodes=(plane("data"), plane("controller"), web))

    assert (first.plane, second.plane) == ("data", "controller")
    assert [stage.name for stage in first.stages if stage.state != "well"] == ["coordinator"]
    assert [stage.name for stage in second.stages if stage.state != "well"] == ["channel"]
    assert {"coordinator", "log"}.isdisjoint(stage.name for stage in second.stages)
