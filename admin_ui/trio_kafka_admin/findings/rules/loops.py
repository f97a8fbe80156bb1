"""Loops that are busy, or were blocked."""

from collections.abc import Iterator
from typing import Final

from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.change import Change
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.findings.history import KEPT_S, PRESENT_S
from trio_kafka_admin.findings.texts import MINUTE_S, counted

_BUSY_PERCENT: Final = 90.0


def busy_loop(change: Change) -> Iterator[Finding]:
    for node in change.named("loop"):
        # A virtual clock stands still while the loop waits: then all of its time is busy.
        if not node.seconds or node.past is None or node["idle_s"] == 0.0:
            continue
        percent = 100 * node.grown("busy_s") / node.seconds
        if percent > _BUSY_PERCENT:
            yield Finding(
                kind="busy-loop",
                title=f"the loop of {node.path[-2]} is busy for {percent:.0f} % of the time",
                subject=Subject("task", node.name),
                severity="watch",
                node="/".join(node.path),
            )


def blocked_loop(change: Change) -> Iterator[Finding]:
    """Report the last block, for some time after its end: pages cannot say it while it lasts."""
    for node in change.named("watchdog"):
        ago_s = node.number("last_ago_s")
        if not node.number("blocks") or ago_s > KEPT_S:
            continue
        culprit = node["last_plugin"] or node["last_task"]
        held_ms = node.number("last_ms")
        yield Finding(
            kind="blocked-loop",
            title=f"{culprit} blocked the loop for {held_ms:.0f} ms",
            more=f", at {node['last_where']}, {_ago(ago_s)} ago",
            subject=Subject("plugin" if node["last_plugin"] else "task", str(culprit)),
            severity="wrong" if ago_s <= PRESENT_S else "watch",
            node="/".join(node.path),
            age_s=ago_s + held_ms / 1e3,
            ended_ago_s=ago_s,
        )


def _ago(seconds: float) -> str:
    """Return a time in words: seconds up to a minute, then minutes."""
    if seconds < MINUTE_S:
        return f"{seconds:.0f} s"
    return counted(round(seconds / MINUTE_S), "minute")
