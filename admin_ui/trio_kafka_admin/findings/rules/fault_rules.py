"""Rules of the plugin `faults` that strike requests."""

import json
from collections.abc import Iterator

from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.change import Change
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.findings.texts import counted


def fault_rule(change: Change) -> Iterator[Finding]:
    """Yield rules that match requests, now or since the earlier moment."""
    for node in change.nodes:
        if node["rule"] is None:
            continue
        name = node.now.name
        subject = Subject("fault rule", name)
        waiting = [
            request
            for request in change.now.requests
            if any(wait.on == subject for wait in request.why)
        ]
        struck = node.grown("hits")
        if struck <= 0 and not waiting:
            continue
        yield Finding(
            kind="fault-rule",
            title=f"rule {name} of plugin faults has matched {counted(struck, 'request')}",
            more=f": {node['rule']}",
            subject=subject,
            severity="watch",
            explains=(Subject("plugin", "faults"),),
            hurt=len({request.client_id for request in waiting}),
            node="/".join(node.path),
        )


def striking_rules(change: Change, api: str) -> Iterator[Subject]:
    """Yield the rules that have struck and are about an API, or about all."""
    for node in change.nodes:
        rule = node["rule"]
        if isinstance(rule, str) and node.grown("hits") > 0 and _is_about(rule, api):
            yield Subject("fault rule", node.now.name)


def _is_about(rule: str, api: str) -> bool:
    try:
        about = json.loads(rule).get("api")
    except (ValueError, AttributeError):
        return api in rule
    return about is None or about == api
