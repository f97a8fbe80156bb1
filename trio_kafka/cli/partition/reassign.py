"""`trio-kafka partition reassign`: partitions to the brokers and directories of a plan."""

from argparse import ArgumentParser
from collections.abc import Iterable, Mapping, Sequence
from typing import Unpack

from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.admin import Change, ChangeOptions, declare_change, open_cluster, report
from trio_kafka.cli.broker_client import open_client, parse_addresses
from trio_kafka.cli.partition.move import TOOL
from trio_kafka.cli.partition.plans import Goal, read_plan
from trio_kafka.cli.partition.replicas import (
    Replica,
    declare_wait,
    read_directories,
    replicas_in,
    wait_moved,
)
from trio_kafka.cli.topics import UNKNOWN, all_topics, check_permission, unknown_topic
from trio_kafka.clients.admin.log_dirs import TopicPartitionReplica
from trio_kafka.clients.blocking import BlockingAdmin
from trio_kafka.clients.errors import ClientError
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition


class Options(ChangeOptions):
    """Options of the command."""

    file: str
    cancel: bool
    wait: float | None


Step = TopicPartition | TopicPartitionReplica
"""One change: the brokers of a partition, or the directory of a replica."""


def declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="the plan, a JSON file as kafka-reassign-partitions.sh has it",
    )
    parser.add_argument(
        "--cancel",
        action="store_true",
        help="end what the plan has begun: replicas stay where they are",
    )
    declare_wait(parser)
    declare_change(parser)


def reassign(**options: Unpack[Options]) -> int:
    """Give partitions the brokers and directories of a plan; look at it with --dry-run first.

    Brokers copy in the background. Nothing is sent of a plan with a broker or a partition that
    does not exist.
    """
    plan = read_plan(options["file"])
    nodes = _brokers(plan, options)
    with open_cluster(options["bootstrap"], options["timeout"]) as admin:
        _check_brokers(plan, [node.node_id for node in admin.describe_cluster().nodes])
        replicas = replicas_in(read_directories(admin, plan))
        if options["cancel"]:
            brokers = dict.fromkeys(admin.list_partition_reassignments(plan))
            moves = _begun(plan, replicas)
        else:
            brokers = {at: goal.replicas for at, goal in plan.items() if goal.replicas != nodes[at]}
            moves = _moves(plan, replicas)
        errors = {} if options["dry_run"] else _alter(admin, brokers, moves)
        if options["wait"] is not None and not options["dry_run"]:
            goals = moves if options["cancel"] else _goals(plan)
            lost = wait_moved(
                admin,
                {replica: path for replica, path in goals.items() if replica not in errors},
                seconds=options["wait"],
                also=lambda: len(admin.list_partition_reassignments(plan)),
            )
            errors |= dict[Step, ClientError](lost.items())
    changes = _changes(brokers, moves, nodes=nodes, replicas=replicas, options=options)
    nothing = "all is as planned, or on its way"
    if options["cancel"]:
        nothing = "nothing of the plan is in progress"
    return report(
        changes, errors, dry_run=options["dry_run"], json=options["json"], nothing=nothing
    )


def _brokers(
    plan: Iterable[TopicPartition], options: Options
) -> dict[TopicPartition, tuple[int, ...]]:
    """Return the brokers of partitions. Raises CommandFailedError for one that does not exist."""
    with open_client(
        parse_addresses(options["bootstrap"]), options["timeout"], unknown=UNKNOWN
    ) as send:
        topics = {topic.name or "": topic for topic in all_topics(send)}
        for name in {at.topic for at in plan} - topics.keys():
            check_permission(send, name)
            raise unknown_topic(name, list(topics))
    brokers = {}
    for at in plan:
        rows = {row.partition_index: row for row in topics[at.topic].partitions}
        if at.partition not in rows:
            raise CommandFailedError(
                f"topic {at.topic}: there is no partition {at.partition}, they are 0 to"
                f" {len(rows) - 1}",
                FAILED,
            )
        brokers[at] = tuple(rows[at.partition].replica_nodes)
    return brokers


def _check_brokers(plan: Mapping[TopicPartition, Goal], nodes: Sequence[int]) -> None:
    """Raise CommandFailedError for a broker that is not in the cluster."""
    for at, goal in plan.items():
        for node in goal.replicas:
            if node not in nodes:
                raise CommandFailedError(
                    f"{at.topic}-{at.partition}: INVALID_REPLICA_ASSIGNMENT: there is no broker"
                    f" {node}: the cluster has {', '.join(map(str, sorted(nodes)))}",
                    FAILED,
                )


def _goals(plan: Mapping[TopicPartition, Goal]) -> dict[TopicPartitionReplica, str]:
    """Return the directories that the plan names."""
    return {replica: path for at, goal in plan.items() for replica, path in goal.moves(at).items()}


def _moves(
    plan: Mapping[TopicPartition, Goal], replicas: Sequence[Replica]
) -> dict[TopicPartitionReplica, str]:
    """Return the directories that replicas are neither in nor on their way to."""
    goes_to = {row.at: row.directory for row in replicas}  # a future replica comes last
    return {replica: path for replica, path in _goals(plan).items() if goes_to.get(replica) != path}


def _begun(
    plan: Mapping[TopicPartition, Goal], replicas: Sequence[Replica]
) -> dict[TopicPartitionReplica, str]:
    """Return the present directory of replicas that move to the one that the plan names."""
    goals = _goals(plan)
    moving = {row.at for row in replicas if row.is_future and goals.get(row.at) == row.directory}
    return {row.at: row.directory for row in replicas if not row.is_future and row.at in moving}


def _alter(
    admin: BlockingAdmin,
    brokers: Mapping[TopicPartition, Sequence[int] | None],
    moves: Mapping[TopicPartitionReplica, str],
) -> dict[Step, ClientError]:
    """Begin the changes; return what has failed.

    A broker keeps the directory for a replica that it does not have yet, and says so by
    REPLICA_NOT_AVAILABLE: so directories go first.
    """
    errors: dict[Step, ClientError] = {}
    if moves:
        new = {(at, node) for at, nodes in brokers.items() for node in nodes or ()}
        errors |= {
            replica: error
            for replica, error in admin.alter_replica_log_dirs(moves).errors.items()
            if error.code is not ErrorCode.REPLICA_NOT_AVAILABLE
            or (TopicPartition(replica.topic, replica.partition), replica.broker) not in new
        }
    if brokers:
        rejected = admin.alter_partition_reassignments(brokers).errors
        errors |= dict[Step, ClientError](rejected.items())
    return errors


def _changes(
    brokers: Mapping[TopicPartition, Sequence[int] | None],
    moves: Mapping[TopicPartitionReplica, str],
    *,
    nodes: Mapping[TopicPartition, Sequence[int]],
    replicas: Sequence[Replica],
    options: Options,
) -> dict[Step, Change]:
    """Return what is said of each step."""
    kafka = [TOOL, "--bootstrap-server", options["bootstrap"]]
    kafka += ["--reassignment-json-file", options["file"]]
    kafka += ["--cancel" if options["cancel"] else "--execute"]
    is_whole = options["dry_run"] or options["wait"] is not None
    verb = "cancel" if options["cancel"] else "move" if is_whole else "begin to move"
    changes: dict[Step, Change] = {}
    for at, goal in brokers.items():
        place = f"{at.topic}-{at.partition}"
        words = f"from brokers {_shown(nodes[at])}"
        changes[at] = Change(
            verb=verb,
            words=f"{place} {words} to {_shown(goal)}" if goal else f"the move of {place} {words}",
            kafka=kafka,
            data={
                "topic": at.topic,
                "partition": at.partition,
                "before": list(nodes[at]),
                "replicas": None if goal is None else list(goal),
            },
        )
    present = {row.at: row for row in replicas if not row.is_future}
    for replica, path in moves.items():
        place = f"{replica.topic}-{replica.partition} on broker {replica.broker}"
        row = present.get(replica)
        before = "nowhere" if row is None else row.directory
        size = "" if row is None else f", {row.size:,} bytes"
        changes[replica] = Change(
            verb=verb,
            words=f"the move of {place}: it stays in {path}"
            if options["cancel"]
            else f"{place} from {before} to {path}{size}",
            kafka=kafka,
            data={
                "topic": replica.topic,
                "partition": replica.partition,
                "broker": replica.broker,
                "before": None if row is None else row.directory,
                "directory": path,
            },
        )
    return changes


def _shown(nodes: Iterable[int]) -> str:
    return ",".join(map(str, nodes))
