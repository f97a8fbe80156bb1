"""Plugins and jobs that have failed."""

from tests.trio_kafka_admin.findings.kit import apply, moment, node
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.rules.failures import failed_job, failed_plugin


def test_failed_plugin_is_wrong_and_names_the_error() -> None:
    now = moment(1.0, node("plugins/echo", "plugin", state="failed", error="ValueError: no"))

    [finding] = apply(failed_plugin, now)

    assert (finding.subject, finding.severity) == (Subject("plugin", "echo"), "wrong")
    assert finding.words == "plugin echo has failed: ValueError: no"


def test_job_whose_last_run_failed_is_to_watch() -> None:
    now = moment(1.0, node("scheduler/retention", "job", last_error="OSError"))

    [finding] = apply(failed_job, now)

    assert (finding.subject, finding.severity) == (Subject("job", "retention"), "watch")
