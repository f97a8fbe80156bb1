"""Plugins and jobs that have failed."""

from tests.trio_kafka_admin.findings.kit import apply, moment, node
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.findings.folding import fold
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


def test_plugin_that_was_disabled_for_blocking_the_loop_stands_below_the_block() -> None:
    error = "it blocked the loop for 0.5 s"
    now = moment(1.0, node("plugins/echo", "plugin", state="failed", error=error))
    failure = apply(failed_plugin, now)
    block = Finding(
        kind="blocked-loop", title="", subject=Subject("plugin", "echo"), severity="wrong"
    )

    [top] = fold([*failure, block])

    assert (top.kind, [row.kind for row in top.consequences]) == ("blocked-loop", ["failed-plugin"])
