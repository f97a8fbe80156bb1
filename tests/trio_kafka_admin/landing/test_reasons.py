"""Stages at which findings stand in the picture."""

import pytest

from tests.trio_kafka_admin.landing.kit import finding
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.landing.reasons import MOST, reasons_of, stage_of, worst


@pytest.mark.parametrize(
    ("kind", "subject", "stage"),
    [
        ("unread-answers", Subject("client", "c"), "answers"),
        ("throttled-client", Subject("client", "c"), "connections"),
        ("full-channel", Subject("channel", "request-channel of plane data"), "channel"),
        ("full-channel", Subject("channel", "plugins/q"), None),
        ("slow-plugin", Subject("plugin", "p"), "handlers"),
        ("waiting-fetch", Subject("client", "c"), "parked"),
        ("silent-member", Subject("member", "g/m"), "coordinator"),
        ("lag", Subject("partition", "t-0"), "coordinator"),
        ("slow-sync", Subject("directory", "/d"), "log"),
        ("failed-job", Subject("job", "j"), None),
    ],
)
def test_finding_stands_at_the_stage_that_it_is_about(
    kind: str, subject: Subject, stage: str | None
) -> None:
    assert stage_of(finding(kind, subject)) == stage


def test_stage_says_causes_and_consequences_once_and_only_a_few() -> None:
    below = finding("long-wait", title="requests wait")
    cause = finding("slow-sync", Subject("directory", "/d"), consequences=(below, below))
    many = [finding("lag", title=str(number)) for number in range(MOST + 3)]

    reasons = reasons_of([cause, *many])

    assert [reason.words for reason in reasons["log"]] == ["slow-sync of something"]
    assert [reason.words for reason in reasons["parked"]] == ["requests wait"]
    assert len(reasons["coordinator"]) == MOST


def test_worst_reason_decides_the_state() -> None:
    reasons = reasons_of([finding(severity="waits", title="a"), finding(severity="watch")])

    reason = worst(reasons["coordinator"])

    assert reason is not None
    assert reason.severity == "watch"
    assert worst([]) is None
