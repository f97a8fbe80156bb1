"""CreateTopics: what is made, what is refused, and what is only said."""

from collections.abc import Sequence

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import (
    batch,
    broker,
    codes,
    delete_topic,
    fetch,
    produce,
    stable,
    values_of,
    write,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.model import ZERO_TOPIC_ID
from trio_kafka.protocol.messages.k19_create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
)
from trio_kafka.testing.broker import ServedBroker

CONFIGS_SINCE = 5  # KIP-525
IDS_SINCE = 7
TOPIC, DEFAULT = 1, 5  # sources of settings


def topic(
    name: str,
    partitions: int = 1,
    factor: int = 1,
    *,
    nodes: Sequence[Sequence[int]] = (),
    **configs: str | None,
) -> CreatableTopic:
    """`_` in a setting's name stands for `.`. nodes: the replicas of each partition."""
    return CreatableTopic(
        name,
        partitions,
        factor,
        [
            CreatableReplicaAssignment(number, list(replicas))
            for number, replicas in enumerate(nodes)
        ],
        [CreatableTopicConfig(key.replace("_", "."), text) for key, text in configs.items()],
    )


async def create(
    served: ServedBroker,
    *topics: CreatableTopic,
    version: int = 7,
    validate_only: bool = False,
    timeout_ms: int = 5000,
) -> list[CreatableTopicResult]:
    request = CreateTopicsRequest(list(topics), timeout_ms, validate_only)
    return list((await served.ask(request, version)).topics)


def names(served: ServedBroker) -> list[str]:
    return sorted(served.broker.metadata.image.topics)


@pytest.mark.parametrize("version", stable(CreateTopicsRequest))
async def test_a_created_topic_is_writable_when_its_creation_is_answered_in_every_version(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        (response,) = await create(served, topic("t", 3, retention_ms="5000"), version=version)
        result = served.broker.metadata.image.topics["t"]
        assert await write(served, "t", b"a") == 0

    assert (response.name, response.error_code, response.error_message) == ("t", 0, None)
    assert response.topic_id == (result.id if version >= IDS_SINCE else ZERO_TOPIC_ID)
    assert len(result.partitions) == 3
    if version < CONFIGS_SINCE:
        assert (response.num_partitions, response.replication_factor, response.configs) == (
            -1,
            -1,
            [],
        )
        return
    assert (response.num_partitions, response.replication_factor) == (3, 1)
    rows = {row.name: (row.value, row.config_source) for row in response.configs}
    assert rows["retention.ms"] == ("5000", TOPIC)
    assert rows["cleanup.policy"] == ("delete", DEFAULT)
    assert not any(row.read_only or row.is_sensitive for row in response.configs)


async def test_each_created_topic_is_returned_with_its_own_settings(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        expected = [topic(f"t{n}", retention_ms=str(1000 + n % 2)) for n in range(20)]
        responses = await create(served, topic("plain"), *expected)

    result = {
        response.name: {row.name: (row.value, row.config_source) for row in response.configs or []}
        for response in responses
    }
    assert result.pop("plain")["retention.ms"] == ("604800000", DEFAULT)
    assert list(result) == [f"t{n}" for n in range(20)]
    assert [rows["retention.ms"] for rows in result.values()] == [
        ("1000", TOPIC),
        ("1001", TOPIC),
    ] * 10


async def test_partition_and_replica_counts_of_minus_1_mean_the_broker_defaults(
    autojump_clock: MockClock,
) -> None:
    async with broker({"num.partitions": "4"}) as served:
        (response,) = await create(served, topic("t", -1, -1))

    assert (response.error_code, response.num_partitions, response.replication_factor) == (0, 4, 1)


async def test_replicas_are_placed_as_assigned_in_the_request(autojump_clock: MockClock) -> None:
    async with broker() as served:
        (response,) = await create(served, topic("t", -1, -1, nodes=[[1], [1]]))
        parts = served.broker.metadata.image.topics["t"].partitions

    assert (response.error_code, response.num_partitions) == (0, 2)
    assert [parts[number].replicas for number in (0, 1)] == [(1,), (1,)]


@pytest.mark.parametrize(
    ("invalid_topic", "code", "message"),
    [
        (topic("a b"), ErrorCode.INVALID_TOPIC_EXCEPTION, "expected ASCII"),
        (topic(""), ErrorCode.INVALID_TOPIC_EXCEPTION, "empty"),
        (topic("there"), ErrorCode.TOPIC_ALREADY_EXISTS, "topic there exists"),
        (topic("the_re.x"), ErrorCode.INVALID_TOPIC_EXCEPTION, "collides with the.re.x"),
        (topic("__cluster_metadata"), ErrorCode.INVALID_REQUEST, "belongs to the controller"),
        (topic("t", 0), ErrorCode.INVALID_PARTITIONS, "0 partitions"),
        (topic("t", -2), ErrorCode.INVALID_PARTITIONS, "-2 partitions"),
        (topic("t", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR, "replication factor 0"),
        (topic("t", 1, 2), ErrorCode.INVALID_REPLICATION_FACTOR, "2"),
        (topic("t", 1, 1, nodes=[[1]]), ErrorCode.INVALID_REQUEST, "expected -1 for both"),
        (
            topic("t", -1, -1, nodes=[[2]]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "broker 2 is not registered",
        ),
        (topic("t", -1, -1, nodes=[[1, 1]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "twice"),
        (topic("t", -1, -1, nodes=[[]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "without replicas"),
        (
            CreatableTopic("t", -1, -1, [CreatableReplicaAssignment(1, [1])]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "without a gap",
        ),
        (
            CreatableTopic("t", -1, -1, [CreatableReplicaAssignment(0, [1])] * 2),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "assigned twice",
        ),
        (topic("t", retention_ms="soon"), ErrorCode.INVALID_CONFIG, "retention.ms"),
        (topic("t", no_such="1"), ErrorCode.INVALID_CONFIG, "no.such"),
        (topic("t", retention_ms=None), ErrorCode.INVALID_CONFIG, "retention.ms"),
    ],
)
async def test_an_invalid_topic_is_refused_with_a_reason_and_other_topics_are_created(
    autojump_clock: MockClock, invalid_topic: CreatableTopic, code: ErrorCode, message: str
) -> None:
    async with broker() as served:
        await create(served, topic("there"), topic("the.re.x"))
        responses = await create(served, invalid_topic, topic("good"))

        assert [(response.name, response.error_code) for response in responses] == [
            (invalid_topic.name, code),
            ("good", 0),
        ]
        assert message in responses[0].error_message
        assert (responses[0].num_partitions, responses[0].replication_factor) == (-1, -1)
        assert (responses[0].configs, responses[0].topic_id) == ([], ZERO_TOPIC_ID)
        assert names(served) == ["good", "the.re.x", "there"]


async def test_a_topic_named_twice_is_refused_once_and_not_created(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        responses = await create(served, topic("t"), topic("good"), topic("t", 3))

        assert [(response.name, response.error_code) for response in responses] == [
            ("t", ErrorCode.INVALID_REQUEST),
            ("good", 0),
        ]
        assert names(served) == ["good"]


async def test_colliding_topic_names_in_one_request_are_refused(autojump_clock: MockClock) -> None:
    async with broker() as served:
        assert codes(await create(served, topic("a.b"), topic("a_b"))) == [
            0,
            ErrorCode.INVALID_TOPIC_EXCEPTION,
        ]


@pytest.mark.parametrize("version", stable(CreateTopicsRequest))
async def test_validate_only_returns_the_results_and_creates_no_topic(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        expected = topic("t", 2, retention_ms="7"), topic("bad", 0)
        responses = await create(served, *expected, version=version, validate_only=True)

        assert codes(responses) == [0, ErrorCode.INVALID_PARTITIONS]
        assert responses[0].num_partitions == (2 if version >= CONFIGS_SINCE else -1)
        assert names(served) == []
        assert codes(await create(served, topic("t"))) == [0]


async def test_a_request_without_topics_creates_no_topic(autojump_clock: MockClock) -> None:
    async with broker() as served:
        assert await create(served) == []


@pytest.mark.parametrize("timeout_ms", [0, -1])
async def test_a_request_without_a_timeout_times_out_and_the_topic_is_still_created(
    autojump_clock: MockClock, timeout_ms: int
) -> None:
    async with broker() as served:
        assert codes(await create(served, topic("t"), timeout_ms=timeout_ms)) == [
            ErrorCode.REQUEST_TIMED_OUT
        ]
        await trio.sleep(1)

        assert codes(await create(served, topic("t"))) == [ErrorCode.TOPIC_ALREADY_EXISTS]


async def test_concurrent_requests_for_the_same_topic_create_one_topic(
    autojump_clock: MockClock,
) -> None:
    result: list[int] = []
    async with broker() as served:

        async def make() -> None:
            async with served.connect() as client:
                answer = await client.ask(CreateTopicsRequest([topic("t")], 5000), 7)
                result.extend(codes(answer.topics))

        async with trio.open_nursery() as nursery:
            for _ in range(10):
                nursery.start_soon(make)

    assert sorted(result) == [0] + [ErrorCode.TOPIC_ALREADY_EXISTS] * 9


async def test_a_recreated_topic_keeps_no_records_settings_or_producers(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        (old,) = await create(served, topic("t", 2, retention_ms="1000"))
        await produce(served, "t", batch(b"old", producer_id=9, producer_epoch=3, base_sequence=0))
        await delete_topic(served, "t")
        (new,) = await create(served, topic("t"))

        assert new.topic_id != old.topic_id
        rows = {row.name: row.config_source for row in new.configs or []}
        assert rows["retention.ms"] == DEFAULT
        part = await fetch(served, "t")
        assert (part.error_code, part.high_watermark, bytes(part.records)) == (0, 0, b"")
        older = batch(b"new", producer_id=9, producer_epoch=0, base_sequence=0)
        assert (await produce(served, "t", older)).base_offset == 0
        assert values_of(await fetch(served, "t")) == [b"new"]
        gone = await produce(served, "t", batch(b"x"), partition=1)
        assert gone.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
