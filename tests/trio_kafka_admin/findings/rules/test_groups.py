"""Groups that wait for a silent member."""

from tests.trio_kafka_admin.findings.kit import apply, group, member, moment
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.rules.groups import silent_member

SILENT = member("settle-a", owes="has not rejoined for 51 s")
PATIENT = member("settle-b")


def test_group_that_waits_names_the_silent_member_and_when_it_is_removed() -> None:
    stuck = group("settlement", state="PreparingRebalance", state_s=51.0, members=(PATIENT, SILENT))

    [finding] = apply(silent_member, moment(1.0, groups=[stuck]))

    assert finding.words == (
        "group settlement waits for member settle-a (127.0.0.1), which has not rejoined for 51 s"
        " (its last heartbeat came 0.5 s ago) and is removed in 4 minutes; 1 other member waits"
    )
    assert finding.subject == Subject("member", "settlement/settle-a")
    assert Subject("group", "settlement") in finding.explains
    assert (finding.severity, finding.hurt, finding.age_s) == ("wrong", 1, 51.0)


def test_healthy_rebalance_is_over_before_it_is_a_finding() -> None:
    young = group(state="PreparingRebalance", state_s=2.9, members=(SILENT, PATIENT))
    stable = group(state_s=60.0, members=(SILENT,))
    quiet = group(state="PreparingRebalance", members=(PATIENT,))

    assert apply(silent_member, moment(1.0, groups=[young, stable, quiet])) == []


def test_group_of_unknown_age_is_as_old_as_both_moments_show() -> None:
    stuck = group(state="PreparingRebalance", state_s=None, members=(SILENT,))
    before, now = (moment(at, groups=[stuck]) for at in (0.0, 8.0))

    assert [finding.age_s for finding in apply(silent_member, now, before)] == [8.0]
    assert apply(silent_member, now, moment(0.0)) == []
    assert apply(silent_member, now) == []


def test_several_silent_members_are_one_finding() -> None:
    other = member("c", owes="has not rejoined", left_s=None, heartbeat_s=None)
    stuck = group(state="PreparingRebalance", members=(other, SILENT, PATIENT, PATIENT))

    [finding] = apply(silent_member, moment(1.0, groups=[stuck]))

    assert finding.words == (
        "group g waits for member c (127.0.0.1) and 1 more, which has not rejoined;"
        " 2 other members wait"
    )
    assert Subject("member", "g/settle-a") in finding.explains
