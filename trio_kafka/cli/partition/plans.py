"""Files with the replicas that partitions are to have, as `kafka-reassign-partitions.sh` has them.

    {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1],
                                   "log_dirs": ["/disk2"]}]}

A directory `any` is that of the broker's choice. Source: ReassignPartitionsCommand of Apache Kafka
4.3.0; KIP-113.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.cli import CommandFailedError
from trio_kafka.clients.admin.log_dirs import TopicPartitionReplica
from trio_kafka.model import TopicPartition

ANY: Final = "any"
_VERSION: Final = 1
_NAMES: Final = frozenset({"topic", "partition", "replicas", "log_dirs"})


class _EntryError(Exception):
    """An entry of a plan is wrong; the message says how."""


@frozen(kw_only=True)
class Goal:
    """Replicas of a partition, the preferred leader first, and a directory or ANY for each."""

    replicas: tuple[int, ...]
    directories: tuple[str, ...]

    def moves(self, at: TopicPartition) -> dict[TopicPartitionReplica, str]:
        """Return the directories that are named, by replica."""
        return {
            TopicPartitionReplica(at.topic, at.partition, node): path
            for node, path in zip(self.replicas, self.directories, strict=True)
            if path != ANY
        }


def read_plan(path: str) -> dict[TopicPartition, Goal]:
    """Return the plan of a file. Raises CommandFailedError, which names the file and the place."""
    try:
        with open(path, encoding="utf-8") as stream:
            document = json.load(stream)
    except OSError as error:
        raise CommandFailedError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise CommandFailedError(f"{path}: no JSON: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("partitions"), list):
        raise CommandFailedError(f"{path}: want an object with a list `partitions`")
    if document.get("version", _VERSION) != _VERSION:
        raise CommandFailedError(f"{path}: version {document['version']}: want {_VERSION}")
    plan: dict[TopicPartition, Goal] = {}
    for number, row in enumerate(document["partitions"], 1):
        try:
            at, goal = _goal(row)
            if at in plan:
                raise _EntryError(f"{at.topic}-{at.partition} is there twice")
        except _EntryError as error:
            raise CommandFailedError(f"{path}: entry {number} of partitions: {error}") from error
        plan[at] = goal
    if not plan:
        raise CommandFailedError(f"{path}: `partitions` is empty")
    return plan


def show_plan(plan: Mapping[TopicPartition, Goal]) -> str:
    """Return a plan as the text of a file."""
    rows = [
        {
            "topic": at.topic,
            "partition": at.partition,
            "replicas": list(goal.replicas),
            "log_dirs": list(goal.directories),
        }
        for at, goal in sorted(plan.items())
    ]
    return json.dumps({"version": _VERSION, "partitions": rows})


def plan_of_moves(
    moves: Mapping[TopicPartitionReplica, str], replicas: Mapping[TopicPartition, Sequence[int]]
) -> dict[TopicPartition, Goal]:
    """Return the plan that moves replicas to directories. replicas: of each partition, now."""
    partitions = dict.fromkeys(TopicPartition(at.topic, at.partition) for at in moves)
    return {
        at: Goal(
            replicas=tuple(replicas[at]),
            directories=tuple(
                moves.get(TopicPartitionReplica(at.topic, at.partition, node), ANY)
                for node in replicas[at]
            ),
        )
        for at in partitions
    }


def _goal(row: object) -> tuple[TopicPartition, Goal]:
    """Return the goal of an entry. Raises _EntryError."""
    if not isinstance(row, dict):
        raise _EntryError(f"{row!r}: want an object")
    if unknown := row.keys() - _NAMES:
        raise _EntryError(f"unknown name {min(unknown)}: want {', '.join(sorted(_NAMES))}")
    topic, partition, replicas = (row.get(name) for name in ("topic", "partition", "replicas"))
    if not isinstance(topic, str):
        raise _EntryError("want a `topic`, a text")
    if not isinstance(partition, int) or not _is_number(partition):
        raise _EntryError("want a `partition`, a number from 0")
    if not isinstance(replicas, list) or not replicas or not all(map(_is_number, replicas)):
        raise _EntryError("want `replicas`, a list of node ids")
    if len(set(replicas)) < len(replicas):
        raise _EntryError(f"replicas {_shown(replicas)}: a broker is there twice")
    directories = row.get("log_dirs", [ANY] * len(replicas))
    if not isinstance(directories, list) or not all(isinstance(path, str) for path in directories):
        raise _EntryError("`log_dirs` is no list of paths")
    if len(directories) != len(replicas):
        raise _EntryError(f"{len(directories)} log_dirs for {len(replicas)} replicas: want as many")
    goal = Goal(replicas=tuple(replicas), directories=tuple(directories))
    return TopicPartition(topic, partition), goal


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _shown(nodes: Iterable[int]) -> str:
    return ",".join(map(str, nodes))
