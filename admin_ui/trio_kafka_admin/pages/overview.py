"""The landing page: what the broker does now, what waits, what is wrong, the way of a request."""

from collections.abc import Sequence
from functools import cache
from importlib import metadata
from typing import Any, Final

import attrs

from trio_kafka.introspect.snapshots import TreeSnapshot, api_loads, loops
from trio_kafka.records.leaf import RECORDS_BY
from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.copying.from_findings import trouble_in
from trio_kafka_admin.findings.change import Change
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.landing.headline import headline
from trio_kafka_admin.landing.lanes import lanes
from trio_kafka_admin.landing.show import show
from trio_kafka_admin.moments import Moment
from trio_kafka_admin.page import Data, Page
from trio_kafka_admin.query import Query

_COUNTS: Final = {
    "partitions": ("replica-manager", "partitions"),
    "led here": ("replica-manager", "leaders"),
    "logs": ("log-manager", "logs"),
    "groups": ("group-coordinator", "groups"),
    "connections": ("connection-limits", "connections"),
}


async def read(reader: BrokerReader, query: Query) -> Data:
    del query
    before, now = await reader.moments_with_findings()
    findings = reader.findings.current
    apis, loads = api_loads(before.tree, now.tree), loops(before.tree, now.tree)
    parts = reader.context.parts
    return {
        "node_id": int(parts.node_id),
        "cluster_id": parts.cluster_id,
        "version": _version(),
        "records_by": RECORDS_BY,
        "seconds": now.at - before.at,
        "headline": attrs.asdict(headline(now, findings, apis, loops=loads)),
        "findings": [finding_row(finding, now) for finding in findings],
        "ended": [finding_row(finding, now) for finding in reader.findings.ended(now.at)],
        "lanes": [attrs.asdict(lane) for lane in lanes(Change(before, now), findings, apis)],
        "listeners": _listeners(now.tree),
        "counts": _counts(now.tree),
        "loops": [attrs.asdict(loop) for loop in loads],
        "apis": [attrs.asdict(load) for load in apis],
    }


def finding_row(finding: Finding, moment: Moment) -> dict[str, Any]:
    """Return a finding as JSON has it, with those that come of it.

    copy: query of the page that writes it as a test; None: there is no such test.
    """
    link = finding.link or finding.subject
    trouble = trouble_in(finding, moment)
    return {
        "kind": finding.kind,
        "severity": finding.severity,
        "words": finding.words,
        "title": finding.title,
        "more": finding.more,
        "subject": attrs.asdict(finding.subject),
        "hurt": finding.hurt,
        "age_s": finding.age_s,
        "ended_ago_s": finding.ended_ago_s,
        "link": attrs.asdict(link),
        "node": finding.node,
        "copy": None if trouble is None else trouble.parameters(),
        "consequences": [finding_row(consequence, moment) for consequence in finding.consequences],
    }


@cache
def _version() -> str:
    """Return the version; importlib parses a file for it."""
    return metadata.version("trio-kafka")


def _counts(look: TreeSnapshot) -> dict[str, int]:
    counts = dict[str, int]()
    top = next(iter(look.nodes))
    for title, (name, figure) in _COUNTS.items():
        node = look.nodes.get((*top, name))
        if node is not None:
            counts[title] = int(node.number(figure))
    return counts


def _listeners(look: TreeSnapshot) -> Sequence[str]:
    nodes = look.nodes.values()
    return [node.name.removeprefix("listener ") for node in nodes if node.kind == "listener"]


PAGE = Page(
    name="overview",
    title="Overview",
    order=10,
    about="Current state of this broker.",
    read=read,
    show=show,
    is_kept=True,
)
