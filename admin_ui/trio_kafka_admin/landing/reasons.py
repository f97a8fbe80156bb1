"""Stages at which findings stand in the picture, by what they are about."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from trio_kafka.introspect.waits import SubjectKind
from trio_kafka_admin.findings.finding import SEVERITIES, Finding
from trio_kafka_admin.findings.subjects import CHANNEL
from trio_kafka_admin.landing.stage import Reason, StageName

MOST: Final = 4  # reasons of one stage
_BY_KIND: Final[Mapping[str, StageName]] = {
    "unread-answers": "answers",
    "waiting-fetch": "parked",
    "long-wait": "parked",
    "crash-loop": "coordinator",
    "lag": "coordinator",
    "hanging-transaction": "log",
    "busy-handlers": "handlers",
    "fault-rule": "handlers",
    "slow-plugin": "handlers",
    "replica-manager-offline": "log",
    "replica-manager-under_replicated": "log",
    "replica-manager-under_minimum": "log",
    "log-manager-offline": "log",
    "listening-failed": "listener",
    "group-coordinator-failed": "coordinator",
}
_BY_SUBJECT: Final[Mapping[SubjectKind, StageName]] = {
    "client": "connections",
    "connection": "connections",
    "directory": "log",
    "group": "coordinator",
    "listener": "listener",
    "member": "coordinator",
    "quota": "connections",
    "shard": "coordinator",
    "transaction": "coordinator",
}


def reasons_of(findings: Iterable[Finding]) -> dict[StageName, list[Reason]]:
    """Return the reasons by stage, causes before their consequences, each sentence once.

    A finding about none of the stages, such as a failed job, stands only in the list of findings.
    """
    reasons = dict[StageName, list[Reason]]()
    for finding in _all(findings):
        stage = stage_of(finding)
        if stage is None:
            continue
        entries = reasons.setdefault(stage, [])
        if len(entries) < MOST and all(entry.words != finding.title for entry in entries):
            entries.append(Reason(finding.severity, finding.title))
    return reasons


def stage_of(finding: Finding) -> StageName | None:
    """Return the stage of a finding; None: none."""
    if finding.subject.kind == "channel":
        return "channel" if finding.subject.name.startswith(CHANNEL) else None
    return _BY_KIND.get(finding.kind) or _BY_SUBJECT.get(finding.subject.kind)


def worst(reasons: Sequence[Reason]) -> Reason | None:
    """Return the worst reason."""
    return min(reasons, key=lambda reason: SEVERITIES.index(reason.severity), default=None)


def _all(findings: Iterable[Finding]) -> Iterator[Finding]:
    for finding in findings:
        yield finding
        yield from finding.consequences
