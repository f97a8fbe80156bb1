"""Findings below what they come of, the worst first."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.findings.folding import fold, rank


def finding(name: str, *because: str, explains: tuple[str, ...] = (), **more: Any) -> Finding:
    return Finding(
        kind="kind",
        title=name,
        subject=Subject("task", name),
        because=tuple(Subject("task", other) for other in because),
        explains=tuple(Subject("task", other) for other in explains),
        **{"severity": "watch", **more},
    )


def names(findings: list[Finding]) -> dict[str, list[str]]:
    return {top.title: [below.title for below in top.consequences] for top in findings}


def test_finding_stands_below_the_farthest_of_its_reasons() -> None:
    findings = [finding("api", "handlers", "plugin"), finding("handlers"), finding("plugin")]

    assert names(fold(findings)) == {"handlers": [], "plugin": ["api"]}


def test_consequence_of_a_consequence_stands_below_the_first_cause() -> None:
    findings = [finding("api", "handlers"), finding("handlers", "plugin"), finding("plugin")]

    assert names(fold(findings)) == {"plugin": ["api", "handlers"]}


def test_reason_that_is_no_finding_itself_hides_nothing() -> None:
    assert names(fold([finding("api", "handlers", "plugin")])) == {"api": []}


def test_finding_is_folded_below_one_that_explains_its_subject_or_its_reason() -> None:
    findings = [
        finding("lag", "group"),
        finding("group"),
        finding("member", explains=("group",)),
    ]

    assert names(fold(findings)) == {"member": ["lag", "group"]}


def test_findings_that_come_of_each_other_keep_one_of_them_on_top() -> None:
    findings = [finding("a", "b"), finding("b", "a"), finding("c", "c")]

    assert names(fold(findings)) == {"b": ["a"], "c": []}


def test_cause_is_as_bad_as_the_worst_of_its_consequences() -> None:
    cause = finding("plugin", hurt=1)
    worse = finding("api", "plugin", severity="wrong", hurt=9)

    [top] = fold([worse, cause])

    assert (top.title, top.severity, top.hurt) == ("plugin", "wrong", 9)


def test_findings_are_ranked_by_severity_then_by_clients_hurt_then_by_age() -> None:
    findings = [
        finding("waits", severity="waits", hurt=9),
        finding("young", hurt=2, age_s=1.0),
        finding("old", hurt=2, age_s=5.0),
        finding("many", hurt=3),
        finding("wrong", severity="wrong"),
    ]

    assert [entry.title for entry in rank(findings)] == ["wrong", "many", "old", "young", "waits"]


@given(st.lists(st.tuples(st.integers(0, 5), st.lists(st.integers(0, 5), max_size=3)), max_size=12))
def test_folding_keeps_each_finding_exactly_once(entries: list[tuple[int, list[int]]]) -> None:
    findings = [finding(str(name), *map(str, because)) for name, because in entries]

    folded = fold(findings)

    flat = [entry.title for top in folded for entry in (top, *top.consequences)]
    assert sorted(flat) == sorted(entry.title for entry in findings)
    assert all(not below.consequences for top in folded for below in top.consequences)
