"""`trio-kafka partition move`: replicas to other directories of their brokers."""

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Final, Unpack

from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.admin import Change, ChangeOptions, declare_change, open_cluster, report
from trio_kafka.cli.broker_client import open_client, parse_addresses
from trio_kafka.cli.near_names import nearest
from trio_kafka.cli.partition.plans import plan_of_moves, show_plan
from trio_kafka.cli.partition.replicas import (
    Directories,
    Replica,
    declare_wait,
    read_directories,
    replicas_in,
    wait_moved,
)
from trio_kafka.cli.topic.list import declare_topics
from trio_kafka.cli.topics import UNKNOWN, all_topics, find_topics
from trio_kafka.clients.admin.log_dirs import TopicPartitionReplica
from trio_kafka.clients.errors import ClientError
from trio_kafka.model import TopicPartition

TOOL: Final = "kafka-reassign-partitions.sh"


class Options(ChangeOptions):
    """Options of the command. The option --from is `from_directory`."""

    topic: Sequence[str]
    regex: bool
    partition: Sequence[int]
    to: str | None
    cancel: bool
    from_directory: str | None
    broker: int | None
    wait: float | None


def declare(parser: ArgumentParser) -> None:
    declare_topics(parser, needed=False)
    parser.add_argument(
        "-p",
        "--partition",
        action="append",
        type=int,
        default=[],
        metavar="NUMBER",
        help="only this partition; may be repeated",
    )
    goal = parser.add_mutually_exclusive_group(required=True)
    goal.add_argument("--to", metavar="DIRECTORY", help="one of the log.dirs of the broker")
    goal.add_argument(
        "--cancel", action="store_true", help="end moves: replicas stay where they are"
    )
    parser.add_argument(
        "--from",
        dest="from_directory",
        metavar="DIRECTORY",
        help="only replicas that are there; without TOPIC all of them",
    )
    parser.add_argument(
        "--broker", type=int, metavar="ID", help="only replicas of this broker (default: all)"
    )
    declare_wait(parser)
    declare_change(parser)


def move(**options: Unpack[Options]) -> int:
    """Move replicas to another directory of their broker, while clients read and write them.

    The broker copies in the background, at most replica.alter.log.dirs.io.max.bytes.per.second.
    """
    bootstrap, dry_run = options["bootstrap"], options["dry_run"]
    if not (options["topic"] or options["from_directory"]):
        raise CommandFailedError("give TOPIC, or --from DIRECTORY for all replicas that are there")
    names, nodes = _topics(options)
    with open_cluster(bootstrap, options["timeout"]) as admin:
        directories = read_directories(admin)
        chosen = _chosen(replicas_in(directories), names, options)
        moves = (
            _cancellations(chosen) if options["cancel"] else _moves(chosen, directories, options)
        )
        errors: dict[TopicPartitionReplica, ClientError] = {}
        if moves and not dry_run:
            errors = dict(admin.alter_replica_log_dirs(moves).errors)
        if options["wait"] is not None and not dry_run:
            on_the_way = {row.at: options["to"] or row.directory for row in chosen if row.is_future}
            begun = {at: path for at, path in (on_the_way | moves).items() if at not in errors}
            errors |= wait_moved(admin, begun, seconds=options["wait"])
    present = {row.at: row for row in chosen if not row.is_future}
    futures = {row.at: row.directory for row in chosen if row.is_future}
    kafka = [TOOL, "--bootstrap-server", bootstrap, "--reassignment-json-file", "/dev/stdin"]
    kafka += ["--cancel" if options["cancel"] else "--execute"]
    goals = {at: futures[at] for at in moves} if options["cancel"] else moves
    text = show_plan(plan_of_moves(goals, nodes))
    changes = {
        at: _change(present[at], path, options, kafka=kafka, text=text)
        for at, path in moves.items()
    }
    nothing = "no replica moves"
    if not options["cancel"]:
        nothing = f"the replicas are in {options['to']}, or on their way"
    return report(changes, errors, dry_run=dry_run, json=options["json"], nothing=nothing)


def _topics(options: Options) -> tuple[frozenset[str], dict[TopicPartition, Sequence[int]]]:
    """Return the names of topics, and the brokers of all partitions."""
    addresses = parse_addresses(options["bootstrap"])
    with open_client(addresses, options["timeout"], unknown=UNKNOWN) as send:
        topics = find_topics(send, options["topic"], all_if_none=True, regex=options["regex"])
        rows = all_topics(send)
    nodes: dict[TopicPartition, Sequence[int]] = {
        TopicPartition(topic.name or "", row.partition_index): row.replica_nodes
        for topic in rows
        for row in topic.partitions
    }
    return frozenset(topic.name or "" for topic in topics), nodes


def _chosen(replicas: Sequence[Replica], names: frozenset[str], options: Options) -> list[Replica]:
    """Return the replicas that options name, future ones too. Raises CommandFailedError."""
    numbers, node, path = options["partition"], options["broker"], options["from_directory"]
    there = {row.at for row in replicas if path in (None, row.directory) and not row.is_future}
    chosen = [
        row
        for row in replicas
        if row.at in there
        and row.at.topic in names
        and (not numbers or row.at.partition in numbers)
        and node in (None, row.at.broker)
    ]
    if not chosen:
        where = "" if path is None else f" in {path}"
        where += "" if node is None else f" on broker {node}"
        raise CommandFailedError(f"no such replica{where}: see `trio-kafka partition list`", FAILED)
    return chosen


def _moves(
    chosen: Sequence[Replica], directories: Directories, options: Options
) -> dict[TopicPartitionReplica, str]:
    """Return the new directory of replicas. Raises CommandFailedError for one no broker has."""
    path = options["to"] or ""
    going = {row.at: row.directory for row in chosen if row.is_future}
    for node in sorted({row.at.broker for row in chosen}):
        paths = list(directories[node])
        if path not in paths:
            hint = nearest(path, paths) or f": it has {', '.join(paths)}"
            raise CommandFailedError(f"broker {node}: there is no directory {path}{hint}", FAILED)
    return {
        row.at: path
        for row in chosen
        if not row.is_future and going.get(row.at, row.directory) != path
    }


def _cancellations(chosen: Sequence[Replica]) -> dict[TopicPartitionReplica, str]:
    """Return the directory in which each replica that moves is: a move there ends the other one."""
    moving = {row.at for row in chosen if row.is_future}
    return {row.at: row.directory for row in chosen if not row.is_future and row.at in moving}


def _change(
    row: Replica, path: str, options: Options, *, kafka: Sequence[str], text: str
) -> Change:
    replica = f"{row.at.topic}-{row.at.partition} on broker {row.at.broker}"
    if options["cancel"]:
        verb, words = "cancel", f"the move of {replica}: it stays in {row.directory}"
    else:
        is_done = options["dry_run"] or options["wait"] is not None
        verb = "move" if is_done else "begin to move"
        words = f"{replica} from {row.directory} to {path}, {row.size:,} bytes"
    return Change(
        verb=verb,
        words=words,
        kafka=kafka,
        stdin=text,
        data={
            "topic": row.at.topic,
            "partition": row.at.partition,
            "broker": row.at.broker,
            "before": row.directory,
            "directory": path,
            "bytes": row.size,
        },
    )
