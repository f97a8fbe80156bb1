"""Groups that fall behind, with the partition and the member."""

from collections.abc import Iterator, Mapping
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.introspect.facts.groups import GroupFacts, PartitionLag
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.change import Change
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.findings.rules.groups import label
from trio_kafka_admin.findings.texts import duration, short

LEAST: Final = 1_000  # records; smaller lags are omitted
STUCK: Final = 10_000  # records: a group with members that does not reduce it is slow or stuck
_COMMIT_S: Final = 6.0  # clients commit each 5 s by default


@frozen
class _Behind:
    """Partition in which a group falls behind. grown: records since the earlier moment."""

    row: PartitionLag
    grown: int

    @property
    def lag(self) -> int:
        return self.row.lag or 0

    @property
    def at(self) -> str:
        return f"{self.row.topic}-{self.row.partition}"


def lagging_group(change: Change) -> Iterator[Finding]:
    """Yield groups with partitions whose lag grows, or is large and is not reduced by members."""
    if not change.seconds:
        return
    for group in change.now.groups:
        past = change.past_partitions(group.group_id)
        behind = [
            _Behind(row, grown)
            for row in group.partitions
            if (grown := _grown(row, past, change.seconds, group)) is not None
        ]
        if behind:
            yield _finding(group, behind, change.seconds)


def _grown(
    row: PartitionLag,
    past: Mapping[tuple[str, int], PartitionLag],
    seconds: float,
    group: GroupFacts,
) -> int | None:
    """Return by how much a lag that is a problem has grown; None: it is none."""
    before = past.get((row.topic, row.partition))
    lag = row.lag or 0
    if lag < LEAST or row.end is None or before is None or before.end is None:
        return None
    grown = lag - (before.lag or 0)
    if grown == 0:
        is_stuck = lag >= STUCK and bool(group.members) and row.offset == before.offset
        return 0 if is_stuck else None
    return grown if grown > 0 and _is_behind(row, before, seconds, group) else None


def _is_behind(row: PartitionLag, before: PartitionLag, seconds: float, group: GroupFacts) -> bool:
    """Return whether a growing lag is more than what comes between two commits.

    Records come in bursts, and clients commit only now and then: what has come within the last
    seconds says nothing.
    """
    lag, arrived = row.lag or 0, (row.end or 0) - (before.end or 0)
    if seconds < _COMMIT_S:
        return lag >= max(STUCK, arrived * _COMMIT_S / seconds)
    if group.members and row.offset == before.offset:
        return lag >= STUCK
    return lag > arrived


def _finding(group: GroupFacts, behind: list[_Behind], seconds: float) -> Finding:
    worst = max(behind, key=lambda entry: entry.lag)
    members = {member.member_id: member for member in group.members}
    member = members.get(worst.row.member_id or "")
    reader = f", read by member {label(member)}" if member else ""
    if not members:
        reader = ", and the group has no members"
    others = f" and {len(behind) - 1} more partitions" if len(behind) > 1 else ""
    if len(behind) == 2:
        others = " and 1 more partition"
    change = (
        f"{worst.grown:,} more than {duration(seconds)} ago"
        if worst.grown
        else f"unchanged for {duration(seconds)}"
    )
    return Finding(
        kind="lag",
        title=f"group {short(group.group_id)} falls behind in {worst.at}{others}",
        more=f": by {worst.lag:,} records there, {change}{reader}",
        subject=Subject("partition", worst.at),
        severity="wrong",
        because=(Subject("group", group.group_id),),
        hurt=max(len(members), 1),
        link=Subject("group", group.group_id),
    )
