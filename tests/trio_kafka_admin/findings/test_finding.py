"""A finding."""

from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.finding import SEVERITIES, Finding


def test_finding_is_the_same_problem_whatever_its_figures_say() -> None:
    subject = Subject("group", "g")
    first, second = (
        Finding(kind="lag", title="it lags", more=more, subject=subject, severity="wrong")
        for more in (": by 1", ": by 2")
    )

    assert first.key == second.key
    assert first.words == "it lags: by 1"
    assert SEVERITIES[0] == "wrong"
