"""Findings as troubles to copy: the names and figures that the moment has of each."""

from collections.abc import Callable, Mapping
from typing import Final

from trio_kafka.introspect.facts.groups import GroupFacts
from trio_kafka_admin.copying.trouble import Trouble, TroubleKind
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.findings.rules.clients import quota_wait
from trio_kafka_admin.moments import Moment

_MOST_LAG: Final = 10_000  # records that a copied test writes


def trouble_in(finding: Finding, moment: Moment) -> Trouble | None:
    """Return what to copy; None if no lines of the test kit make it happen again."""
    copy = _COPIES.get(finding.kind)
    return None if copy is None else copy(finding, moment)


def _silent_member(finding: Finding, moment: Moment) -> Trouble | None:
    group = _group(finding, moment)
    if group is None:
        return None
    debtors = [
        member for member in group.members if finding.subject.name.endswith(member.member_id)
    ]
    return Trouble(
        kind="silent-member",
        group_id=group.group_id,
        client_id=debtors[0].client_id if debtors else "",
        topic=_topic_of(group),
    )


def _crash_loop(finding: Finding, moment: Moment) -> Trouble | None:
    group = _group(finding, moment)
    if group is None:
        return None
    joins = [row.joins for row in group.membership if row.client_id == finding.subject.name]
    return Trouble(
        kind="crash-loop",
        group_id=group.group_id,
        client_id=finding.subject.name,
        topic=_topic_of(group),
        amount=max(joins, default=3),
    )


def _lag(finding: Finding, moment: Moment) -> Trouble | None:
    group = _group(finding, moment)
    if group is None:
        return None
    topic, partition = _partition(finding.subject.name)
    lags = [
        row.lag or 0 for row in group.partitions if (row.topic, row.partition) == (topic, partition)
    ]
    return Trouble(
        kind="lagging-group",
        group_id=group.group_id,
        topic=topic,
        partition=partition,
        amount=min(max(lags, default=1), _MOST_LAG),
    )


def _waiting_fetch(finding: Finding, moment: Moment) -> Trouble | None:
    for request in moment.requests:
        if (
            request.why
            and request.why[0].cause == "bytes"
            and request.client_id == finding.subject.name
        ):
            wait = request.why[0]
            topic, _ = _partition(wait.on.name)
            return Trouble(
                kind="waiting-fetch",
                client_id=request.client_id,
                topic=topic if wait.on.kind == "partition" else "",
                seconds=(wait.age_s or 0.0) + (wait.left_s or 0.0),
                amount=round(wait.needs or 1),
            )
    return None


def _slow_sync(finding: Finding, moment: Moment) -> Trouble | None:
    """A Produce that waits as long; the kit's files are in memory, where no sync is slow."""
    for directory in moment.directories:
        if directory.path == finding.subject.name and directory.syncs:
            files = directory.syncs[0].files
            topic, partition = _partition(files[0]) if files else ("", 0)
            seconds = max(sync.age_s for sync in directory.syncs)
            return Trouble(
                kind="slow-request",
                api="Produce",
                topic=topic,
                partition=partition,
                seconds=seconds,
            )
    return None


def _slow_api(finding: Finding, moment: Moment) -> Trouble | None:
    node = moment.tree.nodes.get(tuple(finding.node.split("/")))
    if node is None or not node.number("count"):
        return None
    seconds = node.number("total_ms") / node.number("count") / 1e3
    return Trouble(kind="slow-request", api=node.name, seconds=seconds)


def _slow_handler(finding: Finding, moment: Moment) -> Trouble:
    inside = [request for request in moment.requests if request.stage == "handler"]
    return Trouble(
        kind="slow-handler",
        api=inside[0].api if inside else "",
        client_id=inside[0].client_id if inside else "",
        seconds=finding.age_s or 1.0,
    )


def _blocked_loop(finding: Finding, moment: Moment) -> Trouble:
    del moment
    return Trouble(
        kind="blocked-loop", seconds=(finding.age_s or 0.0) - (finding.ended_ago_s or 0.0)
    )


def _throttled_client(finding: Finding, moment: Moment) -> Trouble | None:
    for connection in moment.connections:
        wait = quota_wait(connection)
        if wait is not None and connection.client_id == finding.subject.name:
            return Trouble(
                kind="throttled-client",
                client_id=connection.client_id,
                seconds=wait.left_s or 1.0,
            )
    return None


def _fault_rule(finding: Finding, moment: Moment) -> Trouble | None:
    node = moment.tree.nodes.get(tuple(finding.node.split("/")))
    rule = None if node is None else node.figures.get("rule")
    return Trouble(kind="fault-rule", rule=str(rule)) if rule else None


def _long_transaction(finding: Finding, moment: Moment) -> Trouble | None:
    return _transaction(finding, moment, "long-transaction")


def _unmarked_transaction(finding: Finding, moment: Moment) -> Trouble | None:
    return _transaction(finding, moment, "unmarked-transaction")


def _transaction(finding: Finding, moment: Moment, kind: TroubleKind) -> Trouble | None:
    for transaction in moment.transactions:
        if transaction.transactional_id == finding.subject.name:
            topic, numbers = next(iter(transaction.partitions.items()), ("", ()))
            return Trouble(
                kind=kind,
                transactional_id=transaction.transactional_id,
                topic=topic,
                partition=min(numbers, default=0),
                seconds=finding.age_s or 1.0,
            )
    return None


def _hanging_transaction(finding: Finding, moment: Moment) -> Trouble:
    del moment
    topic, partition = _partition(finding.subject.name)
    return Trouble(
        kind="hanging-transaction",
        topic=topic,
        partition=partition,
        seconds=finding.age_s or 1.0,
    )


def _group(finding: Finding, moment: Moment) -> GroupFacts | None:
    named = finding.link
    if named is None or named.kind != "group":
        return None
    return next((group for group in moment.groups if group.group_id == named.name), None)


def _topic_of(group: GroupFacts) -> str:
    return group.partitions[0].topic if group.partitions else ""


def _partition(name: str) -> tuple[str, int]:
    topic, _, number = name.rpartition("-")
    return (topic, int(number)) if number.isdecimal() else (name, 0)


_COPIES: Final[Mapping[str, Callable[[Finding, Moment], Trouble | None]]] = {
    "silent-member": _silent_member,
    "crash-loop": _crash_loop,
    "lag": _lag,
    "waiting-fetch": _waiting_fetch,
    "slow-sync": _slow_sync,
    "slow-api": _slow_api,
    "slow-plugin": _slow_handler,
    "busy-handlers": _slow_handler,
    "blocked-loop": _blocked_loop,
    "throttled-client": _throttled_client,
    "fault-rule": _fault_rule,
    "long-transaction": _long_transaction,
    "unmarked-transaction": _unmarked_transaction,
    "hanging-transaction": _hanging_transaction,
}
