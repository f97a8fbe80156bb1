"""Folding and ranking: what comes of another finding stands below it.

A finding names the subjects that it may come from (`because`, from the chains of waits), and those
that it explains. Nothing here knows the rules.
"""

from collections.abc import Iterable, Sequence

from attrs import evolve

from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.finding import SEVERITIES, Finding


def fold(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings that have no cause among the others, the worst first.

    Each has the findings that come of it, directly or not, as `consequences`, ranked too. It is as
    bad as the worst of them, and hurts as many clients as the one that hurts most.
    """
    causes = _causes(findings)
    below: dict[int, list[Finding]] = {}
    for position, finding in enumerate(findings):
        top = _top(causes, position)
        if top != position:
            below.setdefault(top, []).append(finding)
    roots = [
        _with_consequences(finding, below.get(position, []))
        for position, finding in enumerate(findings)
        if position not in causes
    ]
    return rank(roots)


def rank(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings by severity, then by the clients that they hurt, then the oldest first."""
    return sorted(
        findings,
        key=lambda finding: (
            SEVERITIES.index(finding.severity),
            -finding.hurt,
            -(finding.age_s or 0.0),
        ),
    )


def _causes(findings: Sequence[Finding]) -> dict[int, int]:
    """Return the position of the cause of each finding that has one; they have no cycle."""
    by_subject: dict[Subject, list[int]] = {}
    for position, finding in enumerate(findings):
        for subject in (finding.subject, *finding.explains):
            by_subject.setdefault(subject, []).append(position)
    causes: dict[int, int] = {}
    for position, finding in enumerate(findings):
        cause = _cause(finding, position, by_subject, causes=causes, findings=findings)
        if cause is not None:
            causes[position] = cause
    return causes


def _cause(
    finding: Finding,
    position: int,
    by_subject: dict[Subject, list[int]],
    *,
    causes: dict[int, int],
    findings: Sequence[Finding],
) -> int | None:
    """Return the position of the cause: the farthest of `because`, else one that explains it."""
    for subject in reversed(finding.because):
        for other in by_subject.get(subject, ()):
            if _top(causes, other) != position:
                return other
    for other in by_subject.get(finding.subject, ()):
        is_explained = finding.subject in findings[other].explains
        if is_explained and _top(causes, other) != position:
            return other
    return None


def _top(causes: dict[int, int], position: int) -> int:
    while position in causes:
        position = causes[position]
    return position


def _with_consequences(finding: Finding, consequences: Sequence[Finding]) -> Finding:
    if not consequences:
        return finding
    everything = (finding, *consequences)
    return evolve(
        finding,
        severity=min((entry.severity for entry in everything), key=SEVERITIES.index),
        hurt=max(entry.hurt for entry in everything),
        consequences=tuple(rank(consequences)),
    )
