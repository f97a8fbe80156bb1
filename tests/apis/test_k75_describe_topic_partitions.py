"""DescribeTopicPartitions: partitions page by page, sorted, whoever leads them."""

from collections.abc import Sequence

import attrs
import pytest
from trio.testing import MockClock

from tests.apis.authorizers import RuleAuthorizer
from tests.apis.kit import TWO_LISTENERS, broker, delete_topic, lead_elsewhere, stable
from trio_kafka.errors import ErrorCode
from trio_kafka.model import NO_NODE, NodeId
from trio_kafka.protocol.messages.k75_describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    TopicRequest,
)
from trio_kafka.security.authorizer import ALLOW_ALL
from trio_kafka.testing.broker import ServedBroker

ALL_MAY = 3576  # what everybody may do with a topic: READ to ALTER_CONFIGS, as bits
Page = list[tuple[str, list[int]]]


async def ask(
    served: ServedBroker,
    *names: str,
    limit: int = 2000,
    cursor: tuple[str, int] | None = None,
    version: int = 0,
) -> DescribeTopicPartitionsResponse:
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name) for name in names],
        response_partition_limit=limit,
        cursor=None if cursor is None else Cursor(*cursor),
    )
    answer: DescribeTopicPartitionsResponse = await served.ask(request, version)
    return answer


def page(answer: DescribeTopicPartitionsResponse) -> Page:
    """Names with the numbers of their partitions."""
    return [
        (topic.name or "", [part.partition_index for part in topic.partitions])
        for topic in answer.topics
    ]


def next_of(answer: DescribeTopicPartitionsResponse) -> tuple[str, int] | None:
    cursor = answer.next_cursor
    return None if cursor is None else (cursor.topic_name, cursor.partition_index)


async def create(served: ServedBroker, **topics: int) -> None:
    for name, count in topics.items():
        await served.create_topic(name, count)


@pytest.mark.parametrize("version", stable(DescribeTopicPartitionsRequest))
async def test_topics_are_described_in_every_version(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await create(served, b=1)
        topic_id = await served.create_topic("a", 2)
        answer = await ask(served, "b", "a", "b", version=version)

    assert page(answer) == [("a", [0, 1]), ("b", [0])]
    assert next_of(answer) is None
    first = answer.topics[0]
    assert (first.error_code, first.topic_id, first.is_internal) == (0, topic_id, False)
    assert first.topic_authorized_operations == ALL_MAY
    assert first.partitions[1] == DescribeTopicPartitionsResponsePartition(
        error_code=0,
        partition_index=1,
        leader_id=1,
        leader_epoch=0,
        replica_nodes=[1],
        isr_nodes=[1],
        eligible_leader_replicas=[],
        last_known_elr=[],
        offline_replicas=[],
    )


async def test_all_topics_are_described_when_the_request_names_none(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        assert page(await ask(served)) == []
        await create(served, c=1, a=1, B=2)

        assert page(await ask(served)) == [("B", [0, 1]), ("a", [0]), ("c", [0])]


@pytest.mark.parametrize("named", [(), ("c", "a", "b")])
@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6, 7])
async def test_pages_contain_every_partition_once_in_order(
    autojump_clock: MockClock, named: Sequence[str], limit: int
) -> None:
    result: list[tuple[str, int]] = []
    pages = 0
    async with broker() as served:
        await create(served, a=3, b=1, c=2)
        cursor = None
        while not pages or cursor is not None:
            answer = await ask(served, *named, limit=limit, cursor=cursor)
            part = [(name, number) for name, numbers in page(answer) for number in numbers]
            assert len(part) == min(limit, 6 - len(result))
            result += part
            cursor = next_of(answer)
            pages += 1

    assert result == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("c", 0), ("c", 1)]
    assert pages == -(-6 // limit)


@pytest.mark.parametrize("limit", [0, -1, -(2**31)])
async def test_a_page_has_at_least_one_partition(autojump_clock: MockClock, limit: int) -> None:
    async with broker() as served:
        await create(served, a=2)
        answer = await ask(served, limit=limit)

    assert (page(answer), next_of(answer)) == ([("a", [0])], ("a", 1))


async def test_a_broker_setting_limits_the_partitions_of_a_page(autojump_clock: MockClock) -> None:
    async with broker({"max.request.partition.size.limit": "2"}) as served:
        await create(served, a=3)
        answer = await ask(served, limit=100)
        smaller = await ask(served, limit=1)

    assert (page(answer), next_of(answer)) == ([("a", [0, 1])], ("a", 2))
    assert (page(smaller), next_of(smaller)) == ([("a", [0])], ("a", 1))


async def test_a_full_page_ends_before_the_next_topic_even_if_that_topic_is_unknown(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await create(served, a=2, c=1)

        full = await ask(served, "a", "b", "c", limit=2)
        rest = await ask(served, "a", "b", "c", limit=2, cursor=("b", 0))

    assert (page(full), next_of(full)) == ([("a", [0, 1])], ("b", 0))
    assert (page(rest), next_of(rest)) == ([("b", []), ("c", [0])], None)


async def test_a_topic_that_the_client_may_not_describe_is_on_the_page_that_reaches_it(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await create(served, a=2, b=1, z=1)
        parts = served.broker.parts
        parts.authorizer = RuleAuthorizer(lambda _, resource: resource.name not in ("aa", "z"))
        pages = []
        cursor = None
        while not pages or cursor is not None:
            answer = await ask(served, "a", "aa", "b", "z", limit=1, cursor=cursor)
            pages.append([(topic.name, topic.error_code) for topic in answer.topics])
            cursor = next_of(answer)
        parts.authorizer = ALLOW_ALL

    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert pages == [[("a", 0)], [("a", 0), ("aa", denied)], [("b", 0), ("z", denied)]]


async def test_a_cursor_of_a_deleted_topic_continues_with_the_next_topic(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await create(served, a=1, b=2, c=2)
        await delete_topic(served, "b")
        answer = await ask(served, cursor=("b", 1))

    assert page(answer) == [("c", [0, 1])]


async def test_a_cursor_behind_the_last_partition_returns_the_topic_without_partitions(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await create(served, a=2, b=3)
        answer = await ask(served, limit=2, cursor=("a", 2**31 - 1))

    assert (page(answer), next_of(answer)) == ([("a", []), ("b", [0, 1])], ("b", 2))


@pytest.mark.parametrize(
    ("names", "cursor"),
    [(("a",), ("b", 0)), (("b", "c"), ("a", 0)), (("a",), ("a", -1)), ((), ("a", -1))],
)
async def test_an_invalid_cursor_is_an_invalid_request_for_each_topic(
    autojump_clock: MockClock, names: Sequence[str], cursor: tuple[str, int]
) -> None:
    async with broker() as served:
        await create(served, a=1, b=1, c=1)
        answer = await ask(served, *names, cursor=cursor)

    assert [(topic.name, topic.error_code, topic.partitions) for topic in answer.topics] == [
        (name, ErrorCode.INVALID_REQUEST, []) for name in names
    ]
    assert next_of(answer) is None


async def test_an_unknown_topic_is_an_error_and_is_not_created(
    autojump_clock: MockClock,
) -> None:
    async with broker({"auto.create.topics.enable": "true"}) as served:
        await create(served, m=1)
        answer = await ask(served, "m", "x", "a b", "__consumer_offsets", limit=1)
        assert set(served.broker.metadata.image.topics) == {"m"}

    assert [
        (topic.name, topic.error_code, topic.is_internal, topic.topic_authorized_operations)
        for topic in answer.topics
    ] == [
        ("__consumer_offsets", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True, ALL_MAY),
        ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION, False, ALL_MAY),
        ("m", 0, False, ALL_MAY),
    ]
    assert all(topic.topic_id == bytes(16) for topic in answer.topics if topic.error_code)
    assert next_of(answer) == ("x", 0)


async def test_internal_topics_are_marked(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await create(served, __consumer_offsets=1, t=1)
        answer = await ask(served)

    assert [(topic.name, topic.is_internal) for topic in answer.topics] == [
        ("__consumer_offsets", True),
        ("t", False),
    ]


async def test_a_leader_is_named_only_on_listeners_where_the_leader_has_an_endpoint(
    autojump_clock: MockClock,
) -> None:
    async with broker(TWO_LISTENERS) as served:
        await create(served, t=1)
        await lead_elsewhere(served)
        cache = served.broker.metadata
        image = cache.image
        other = image.brokers[NodeId(7)]
        only_two = tuple(endpoint for endpoint in other.endpoints if endpoint.name == "TWO")
        cache.image = attrs.evolve(
            image, brokers={**image.brokers, NodeId(7): attrs.evolve(other, endpoints=only_two)}
        )
        request = DescribeTopicPartitionsRequest([TopicRequest("t")])
        result = []
        for listener in ("ONE", "TWO"):
            async with served.connect(listener) as client:
                (part,) = (await client.ask(request, 0)).topics[0].partitions
                assert (part.error_code, part.leader_epoch) == (0, 5)
                assert (part.replica_nodes, part.isr_nodes) == ([1, 7], [7])
                result.append((part.leader_id, part.offline_replicas))

    assert result == [(NO_NODE, [7]), (7, [])]


async def test_eligible_and_last_known_leader_replicas_are_described(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await create(served, t=1)
        cache = served.broker.metadata
        topic = cache.image.topics["t"]
        state = attrs.evolve(
            topic.partitions[0],
            replicas=(NodeId(1), NodeId(2), NodeId(3)),
            elr=(NodeId(2),),
            last_known_elr=(NodeId(3),),
        )
        topics = {"t": attrs.evolve(topic, partitions={0: state})}
        cache.image = attrs.evolve(cache.image, topics=topics)
        (part,) = (await ask(served, "t")).topics[0].partitions

    assert part.eligible_leader_replicas == [2]
    assert part.last_known_elr == [3]
    assert part.offline_replicas == [2, 3]
