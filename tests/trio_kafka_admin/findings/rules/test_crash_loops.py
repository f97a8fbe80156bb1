"""Clients that join a group and leave it again and again."""

from tests.trio_kafka_admin.findings.kit import apply, group, member, moment
from trio_kafka.introspect.facts.groups import MembershipFacts
from trio_kafka_admin.findings.rules.crash_loops import crash_loop


def membership(*recent: tuple[float, str], client_id: str = "billing") -> MembershipFacts:
    joins = sum(event == "joined" for _, event in recent)
    return MembershipFacts(
        client_id=client_id, joins=joins, leaves=len(recent) - joins, recent=recent
    )


def crashes(times: int, every_s: float) -> list[tuple[float, str]]:
    events = [((n + half) * every_s, way) for n in range(times) for half, way in _WAYS]
    return sorted(events)


_WAYS = ((0.0, "left"), (0.5, "joined"))


def test_client_that_crashes_in_a_loop_is_named_with_how_often() -> None:
    looping = group("reports", membership=(membership(*crashes(5, 5.0)),))

    [finding] = apply(crash_loop, moment(1.0, groups=[looping]))

    assert finding.words == (
        "client billing starts again and again in group reports: it joined 5 times in 22 s and"
        " left 5 times"
    )
    assert (finding.severity, finding.age_s) == ("wrong", 22.5)


def test_members_that_restart_one_after_the_other_are_no_crash_loop() -> None:
    members = tuple(member(f"m{n}", client_id="billing") for n in range(5))
    rolling = group(members=members, membership=(membership(*crashes(5, 5.0)),))

    assert apply(crash_loop, moment(1.0, groups=[rolling])) == []


def test_joins_of_long_ago_and_single_joins_are_no_crash_loop() -> None:
    old = group(membership=(membership(*crashes(5, 100.0)),))
    joined = group(membership=(membership((1.0, "joined"), (2.0, "joined"), (3.0, "joined")),))

    assert apply(crash_loop, moment(1.0, groups=[old, joined])) == []
