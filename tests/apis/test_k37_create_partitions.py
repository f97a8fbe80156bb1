"""CreatePartitions: topics grow, each for itself, and what is new can be used at once."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import batch, broker, fetch_request, partitions_of, produce, stable, values_of
from tests.controller.kit import running_controller
from tests.raft.kit import format_root
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from trio_kafka.protocol.messages.k37_create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world


def grown(name: str, count: int, *assignments: list[int]) -> CreatePartitionsTopic:
    """Without assignments the controller chooses."""
    rows = [CreatePartitionsAssignment(nodes) for nodes in assignments] or None
    return CreatePartitionsTopic(name, count, rows)


async def ask(
    served: ServedBroker, *topics: CreatePartitionsTopic, version: int = 3, **others: Any
) -> list[CreatePartitionsTopicResult]:
    request = CreatePartitionsRequest(list(topics), **{"timeout_ms": 1000, **others})
    return list((await served.ask(request, version)).results)


async def errors(served: ServedBroker, *topics: CreatePartitionsTopic, **others: Any) -> list[int]:
    return [result.error_code for result in await ask(served, *topics, **others)]


async def partitions(served: ServedBroker, name: str = "t") -> list[tuple[int, int, list[int]]]:
    """As Metadata shows them: number, leader, replicas."""
    (row,) = (await served.ask(MetadataRequest([MetadataRequestTopic(name=name)]))).topics
    assert row.error_code == 0
    return [
        (partition.partition_index, partition.leader_id, partition.replica_nodes)
        for partition in row.partitions
    ]


@pytest.mark.parametrize("version", stable(CreatePartitionsRequest))
async def test_a_topic_grows_in_every_version(autojump_clock: MockClock, version: int) -> None:
    async with broker() as served:
        await served.create_topic("t", 2)

        (result,) = await ask(served, grown("t", 5), version=version)

        assert (result.name, result.error_code, result.error_message) == ("t", 0, None)
        assert await partitions(served) == [(number, 1, [1]) for number in range(5)]


async def test_new_partitions_are_written_and_read_at_once(autojump_clock: MockClock) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("t")
        assert await errors(served, grown("t", 3)) == [0]

        for number in range(3):
            response = await produce(served, "t", batch(b"%d" % number), partition=number)
            assert (response.error_code, response.base_offset) == (0, 0)
        answer = await served.ask(fetch_request(topic_id, 0, 0, 0), 13)

    assert [values_of(part) for part in partitions_of(answer)] == [[b"0"], [b"1"], [b"2"]]


async def test_new_partitions_survive_a_restart(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with served_broker(world) as served:
        await served.create_topic("t")
        assert await errors(served, grown("t", 3)) == [0]
        assert (await produce(served, "t", batch(b"a"), partition=2)).error_code == 0

    async with served_broker(world) as served:
        assert len(await partitions(served)) == 3
        assert (await produce(served, "t", batch(b"b"), partition=2)).base_offset == 1


async def test_replicas_of_new_partitions_are_placed_as_assigned(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")

        assert await errors(served, grown("t", 3, [1], [1])) == [0]
        assert await partitions(served) == [(number, 1, [1]) for number in range(3)]


INVALID = [
    (grown("t", 2), ErrorCode.INVALID_PARTITIONS),
    (grown("t", 1), ErrorCode.INVALID_PARTITIONS),
    (grown("t", 0), ErrorCode.INVALID_PARTITIONS),
    (grown("t", -1), ErrorCode.INVALID_PARTITIONS),
    (grown("t", 2, [1]), ErrorCode.INVALID_PARTITIONS),
    (grown("t", 4, [1]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    (CreatePartitionsTopic("t", 3, []), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    (grown("t", 3, []), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    (grown("t", 3, [1, 1]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    (grown("t", 3, [7]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    (grown("t", 20_000), ErrorCode.POLICY_VIOLATION),
    (grown("unknown", 3), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    (grown("", 3), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    (grown("__cluster_metadata", 3), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
]


@pytest.mark.parametrize("version", stable(CreatePartitionsRequest))
async def test_an_invalid_partition_count_or_assignment_is_refused_in_every_version(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t", 2)
        for topic, code in INVALID:
            (result,) = await ask(served, topic, version=version)

            assert (result.name, result.error_code) == (topic.name, code), topic
            assert result.error_message, topic
            assert len(await partitions(served)) == 2, topic


async def test_a_topic_named_twice_does_not_grow_and_other_topics_do(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        for name in ("t", "u", "v"):
            await served.create_topic(name)
        response = await ask(served, grown("t", 2), grown("u", 2), grown("t", 3), grown("v", 1))

        assert {topic.name: topic.error_code for topic in response} == {
            "t": ErrorCode.INVALID_REQUEST,
            "u": 0,
            "v": ErrorCode.INVALID_PARTITIONS,
        }
        assert len(response) == 3
        assert [len(await partitions(served, name)) for name in ("t", "u", "v")] == [1, 2, 1]


@pytest.mark.parametrize("version", stable(CreatePartitionsRequest))
async def test_validate_only_changes_nothing(autojump_clock: MockClock, version: int) -> None:
    async with broker() as served:
        await served.create_topic("t")
        before = served.broker.metadata.image.offset
        topics = [grown("t", 3), grown("unknown", 2)]

        error_codes = await errors(served, *topics, version=version, validate_only=True)

        assert error_codes == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        assert len(await partitions(served)) == 1
        assert served.broker.metadata.image.offset == before


@pytest.mark.parametrize("timeout_ms", [1, 0, -1])  # a sync of the metadata log takes longer
async def test_a_request_without_a_timeout_times_out_and_the_topic_still_grows(
    autojump_clock: MockClock, timeout_ms: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")

        error_codes = await errors(served, grown("t", 2), timeout_ms=timeout_ms)
        assert error_codes == [ErrorCode.REQUEST_TIMED_OUT]
        await trio.sleep(1)

        assert len(await partitions(served)) == 2


@pytest.mark.parametrize("timeout_ms", [0, -1])
async def test_a_request_without_a_timeout_is_refused_for_an_unknown_topic(
    autojump_clock: MockClock, timeout_ms: int
) -> None:
    async with broker() as served:
        error_codes = await errors(served, grown("unknown", 2), timeout_ms=timeout_ms)

    assert error_codes == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


async def test_a_request_without_an_active_controller_is_answered_not_controller(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        world = simulated_world()
        await format_root(world)
        async with running_controller(world) as ended:
            pass  # from now on it decides nothing
        active, served.broker.parts.controller = served.broker.controller, ended.controller

        for validate_only in (False, True):
            error_codes = await errors(served, grown("t", 2), validate_only=validate_only)
            assert error_codes == [ErrorCode.NOT_CONTROLLER]
        served.broker.parts.controller = active
        assert await errors(served, grown("t", 2)) == [0]


async def test_a_request_without_topics_gets_an_empty_answer(autojump_clock: MockClock) -> None:
    async with broker() as served:
        assert await ask(served) == []
