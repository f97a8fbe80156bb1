"""Channels that are full, late or have dropped items."""

from collections.abc import Iterator
from typing import Final

from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.change import Change, NodeChange
from trio_kafka_admin.findings.finding import Finding, Severity
from trio_kafka_admin.findings.subjects import CHANNEL, channel_of, handlers_of, plane_of

_LATE_S: Final = 5.0  # bound for a queue of a plane


def full_channel(change: Change) -> Iterator[Finding]:
    for node in change.of_kind("channel"):
        bound, depth = node.number("bound"), node.number("depth")
        if 0 < bound <= depth:
            yield _finding(
                node,
                "full-channel",
                f"{_name(node)} is full",
                f": {depth:.0f} of {bound:.0f} items",
                severity="wrong",
            )


def late_channel(change: Change) -> Iterator[Finding]:
    for node in change.of_kind("channel"):
        oldest_s = node.number("oldest_s")
        if oldest_s > _LATE_S:
            yield _finding(
                node,
                "late-channel",
                f"the oldest item of {_name(node)} has waited for {oldest_s:.1f} s",
                "",
                severity="wrong",
                age_s=oldest_s,
            )


def dropped(change: Change) -> Iterator[Finding]:
    for node in change.of_kind("channel"):
        lost = node.grown("dropped")
        if lost > 0:
            yield _finding(
                node,
                "dropped",
                f"{_name(node)} was full",
                f": {lost:.0f} items were dropped",
                severity="wrong",
            )


def _finding(
    node: NodeChange,
    kind: str,
    title: str,
    more: str,
    *,
    severity: Severity,
    age_s: float | None = None,
) -> Finding:
    """Return a finding of a channel; the request channel of a plane waits for its handlers."""
    plane, is_of_requests = plane_of(node.path), _is_of_requests(node)
    return Finding(
        kind=kind,
        title=title,
        more=more,
        subject=channel_of(plane) if is_of_requests else Subject("channel", node.name),
        severity=severity,
        because=(handlers_of(plane),) if is_of_requests else (),
        node="/".join(node.path),
        age_s=age_s,
    )


def _is_of_requests(node: NodeChange) -> bool:
    """Return whether a channel is the request channel of a plane."""
    return bool(plane_of(node.path)) and node.path[-2] == CHANNEL


def _name(node: NodeChange) -> str:
    """Return the name of a channel in words."""
    return (
        f"the request channel of plane {plane_of(node.path)}"
        if _is_of_requests(node)
        else node.name
    )
