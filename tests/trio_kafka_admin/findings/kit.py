"""Moments built by hand, and what the rules say of them."""

from collections.abc import Sequence
from typing import Any

from trio_kafka.introspect.facts.connections import ConnectionFacts
from trio_kafka.introspect.facts.groups import GroupFacts, MemberFacts, PartitionLag
from trio_kafka.introspect.facts.requests import RequestFacts
from trio_kafka.introspect.facts.storage import DirectoryFacts, SyncFacts
from trio_kafka.introspect.facts.transactions import OpenTransactionFacts, TransactionFacts
from trio_kafka.introspect.snapshots import NodeSnapshot, Path, TreeSnapshot
from trio_kafka.introspect.tree import Figures
from trio_kafka.introspect.waits import Subject, Wait
from trio_kafka_admin.findings.change import Change
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.findings.rule_list import Rule
from trio_kafka_admin.moments import Moment

HANDLERS = "plane data/request-handlers/num.io.threads"


def node(path: str, kind: str, **figures: Any) -> dict[Path, NodeSnapshot]:
    """A node below the root."""
    names = ("broker-1", *path.split("/"))
    return {names: NodeSnapshot(kind, names[-1], figures)}


def look(path: str, kind: str, figures: Figures) -> dict[Path, NodeSnapshot]:
    return node(path, kind, **figures)


def moment(at: float = 10.0, *nodes: dict[Path, NodeSnapshot], **facts: Any) -> Moment:
    tree = {path: entry for part in nodes for path, entry in part.items()}
    return Moment(at=at, tree=TreeSnapshot(at, tree), **facts)


def apply(rule: Rule, now: Moment, before: Moment | None = None) -> list[Finding]:
    return list(rule(Change(before, now)))


def words_of(findings: Sequence[Finding]) -> list[str]:
    return [finding.words for finding in findings]


def handlers(borrowed: int, tokens: int = 8, waiting: int = 0) -> dict[Path, NodeSnapshot]:
    return node(HANDLERS, "limiter", tokens=tokens, borrowed=borrowed, waiting=waiting)


def request(api: str = "Produce", client_id: str = "shop", **more: Any) -> RequestFacts:
    usual: dict[str, Any] = {
        "plane": "data",
        "processor": "p0",
        "connection": "c1",
        "correlation": 7,
        "software": "",
        "principal": "User:ANONYMOUS",
        "version": 9,
        "stage": "parked",
        "age_s": 1.0,
        "hops_s": {"queue": 0.0, "local": more.get("age_s", 1.0)},
    }
    return RequestFacts(api=api, client_id=client_id, **{**usual, **more})


def connection(client_id: str = "shop", **more: Any) -> ConnectionFacts:
    usual: dict[str, Any] = {
        "id": f"of-{client_id}",
        "plane": "data",
        "listener": "PLAINTEXT",
        "processor": "p0",
        "host": "127.0.0.1",
        "software": "",
        "principal": "User:ANONYMOUS",
        "age_s": 60.0,
        "idle_s": 0.0,
        "in_flight": 0,
        "unsent_bytes": 0,
        "unsent_s": None,
        "received_bytes": None,
        "sent_bytes": None,
    }
    return ConnectionFacts(client_id=client_id, **{**usual, **more})


def member(member_id: str, **more: Any) -> MemberFacts:
    usual: dict[str, Any] = {
        "instance_id": None,
        "client_id": member_id,
        "host": "/127.0.0.1",
        "heartbeat_s": 0.5,
        "left_s": 249.0,
        "owes": "",
        "assigned": {},
    }
    return MemberFacts(member_id=member_id, **{**usual, **more})


def group(group_id: str = "g", **more: Any) -> GroupFacts:
    usual: dict[str, Any] = {
        "type": "classic",
        "state": "Stable",
        "state_s": 60.0,
        "epoch": 1,
        "protocol": "range",
        "members": (),
        "partitions": (),
        "rebalances": (),
        "membership": (),
    }
    fields = {**usual, **more}
    lag = sum(row.lag or 0 for row in fields["partitions"])
    return GroupFacts(group_id=group_id, lag=lag, **fields)


def lag(
    partition: int, *, offset: int, end: int | None, member_id: str | None = None
) -> PartitionLag:
    return PartitionLag(
        topic="t",
        partition=partition,
        offset=offset,
        end=end,
        lag=None if end is None else end - offset,
        member_id=member_id,
    )


def directory(path: str = "/data", **more: Any) -> DirectoryFacts:
    usual: dict[str, Any] = {
        "error": "",
        "free_bytes": 10**11,
        "total_bytes": 2 * 10**11,
        "used_share": 0.5,
        "logs": 4,
        "log_bytes": None,
        "syncs": (),
        "waiting": 0,
    }
    return DirectoryFacts(path=path, **{**usual, **more})


def sync(age_s: float, *files: str, directory: str = "/data") -> SyncFacts:
    return SyncFacts(directory=directory, files=files, age_s=age_s)


def wait(cause: Any, kind: Any, name: str, words: str = "something", **more: Any) -> Wait:
    return Wait(cause=cause, words=words, on=Subject(kind, name), **more)


def transaction(transactional_id: str = "payments", **more: Any) -> TransactionFacts:
    usual: dict[str, Any] = {
        "state": "Ongoing",
        "state_s": 1.0,
        "producer_id": 5,
        "epoch": 0,
        "version": 2,
        "timeout_s": 900.0,
        "age_s": 1.0,
        "left_s": 899.0,
        "partitions": {"t": (0,)},
        "partitions_total": 1,
        "waits_for": "its producer",
        "parked": 0,
    }
    return TransactionFacts(transactional_id=transactional_id, **{**usual, **more})


def open_transaction(partition: int = 0, **more: Any) -> OpenTransactionFacts:
    usual: dict[str, Any] = {
        "topic": "t",
        "producer_id": 5,
        "epoch": 0,
        "coordinator_epoch": -1,
        "start": 7,
        "is_oldest": True,
        "held": 3,
        "last_ms": 0,
        "ago_s": 90.0,
        "transactional_id": "payments",
        "verdict": "known",
    }
    return OpenTransactionFacts(partition=partition, **{**usual, **more})
