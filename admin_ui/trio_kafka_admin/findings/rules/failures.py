"""Plugins and jobs that have failed."""

from collections.abc import Iterator
from typing import Final

from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.change import Change
from trio_kafka_admin.findings.finding import Finding

_BLOCKED: Final = "blocked the loop"  # in the error of a plugin that is disabled for it


def failed_plugin(change: Change) -> Iterator[Finding]:
    for node in change.of_kind("plugin"):
        if node["state"] == "failed":
            subject, error = Subject("plugin", node.now.name), str(node["error"])
            yield Finding(
                kind="failed-plugin",
                title=f"plugin {node.now.name} has failed",
                more=f": {error}",
                subject=subject,
                because=(subject,) if _BLOCKED in error else (),
                severity="wrong",
                node="/".join(node.path),
            )


def failed_job(change: Change) -> Iterator[Finding]:
    for node in change.of_kind("job"):
        error = node["last_error"]
        if error:
            yield Finding(
                kind="failed-job",
                title=f"job {node.now.name} failed in its last run",
                more=f": {error}",
                subject=Subject("job", node.now.name),
                severity="watch",
                node="/".join(node.path),
            )
