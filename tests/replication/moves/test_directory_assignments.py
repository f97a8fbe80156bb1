"""Reports of the directories of replicas to the controller."""

from collections.abc import Mapping
from itertools import count

import trio
from attrs import evolve

from tests.replication.kit import new_partition
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.log.files.partition_metadata import format_id
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.manager.meta_properties import MetaProperties
from trio_kafka.metadata.image import UNASSIGNED_DIRECTORY
from trio_kafka.model import NodeId, TopicPartition
from trio_kafka.replication.moves.directory_assignments import (
    DirectoryAssignments,
    Replica,
    assign_none,
)
from trio_kafka.replication.partition import Partition

THERE = bytes(range(100, 116))
NUMBERS = count()


class Reports(list[Mapping[Replica, bytes]]):
    """Assignments sent to the controller, which rejects the first `refusals`."""

    refusals = 0

    async def __call__(self, assignments: Mapping[Replica, bytes]) -> None:
        await trio.lowlevel.checkpoint()
        if self.refusals:
            self.refusals -= 1
            raise KafkaError(ErrorCode.NOT_CONTROLLER)
        self.append(dict(assignments))


def directory(world) -> LogDirectory:
    log_directory = LogDirectory(world, world.directory("/d", create=True), lambda: None)
    log_directory.properties = MetaProperties(
        node_id=NodeId(1), cluster_id="c", directory_id=format_id(THERE)
    )
    return log_directory


def replica(world, directory_id: bytes | None = UNASSIGNED_DIRECTORY) -> Partition:
    partition, _ = new_partition(world, at=TopicPartition("t", next(NUMBERS)))
    partition.state = evolve(
        partition.state, directories=() if directory_id is None else (directory_id,)
    )
    return partition


async def reported(assignments: DirectoryAssignments, for_s: float = 5.0) -> None:
    with trio.move_on_after(for_s):
        await assignments.run()


async def test_directory_missing_in_the_metadata_is_reported_until_accepted(
    world, autojump_clock
) -> None:
    reports = Reports()
    reports.refusals = 2
    assignments = DirectoryAssignments(reports, Node("broker", "broker"))
    partition = replica(world)

    assignments.note(partition, directory(world))
    await reported(assignments)

    assert reports == [{(partition.topic_id, partition.at.partition): THERE}]


async def test_directories_of_known_and_forgotten_replicas_are_not_reported(
    world, autojump_clock
) -> None:
    reports = Reports()
    assignments = DirectoryAssignments(reports, Node("broker", "broker"))

    for directory_id in (THERE, None):
        assignments.note(replica(world, directory_id), directory(world))
    gone = replica(world)
    assignments.note(gone, directory(world))
    assignments.forget(gone)
    await reported(assignments)

    assert reports == []


async def test_move_to_another_directory_is_reported_at_once(world, autojump_clock) -> None:
    reports = Reports()
    assignments = DirectoryAssignments(reports, Node("broker", "broker"))
    partition = replica(world)

    await assignments.assign(partition, directory(world))
    await assignments.assign(replica(world, None), directory(world))

    assert reports == [{(partition.topic_id, partition.at.partition): THERE}]


async def test_directories_are_not_reported_without_a_controller(world, autojump_clock) -> None:
    assignments = DirectoryAssignments(assign_none, Node("broker", "broker"))
    partition = replica(world)
    state = partition.state

    with trio.testing.assert_checkpoints():
        await assignments.assign(partition, directory(world))
    assignments.note(partition, directory(world))
    await reported(assignments)

    assert assignments.figures() == {"waiting": 0, "done": 2}
    assert partition.state is state
