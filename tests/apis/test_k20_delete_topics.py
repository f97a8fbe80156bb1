"""DeleteTopics: by name, by id, and what stays."""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import broker, codes, stable, write
from trio_kafka.errors import ErrorCode
from trio_kafka.model import ZERO_TOPIC_ID
from trio_kafka.protocol.messages.k20_delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicState,
)
from trio_kafka.testing.broker import ServedBroker

STATES_SINCE = 6
UNKNOWN_ID = b"?" * 16


def by_name(name: str) -> DeleteTopicState:
    return DeleteTopicState(name, ZERO_TOPIC_ID)


def by_id(topic_id: bytes) -> DeleteTopicState:
    return DeleteTopicState(None, topic_id)


async def delete(
    served: ServedBroker,
    *topics: str | DeleteTopicState,
    version: int = STATES_SINCE,
    timeout_ms: int = 5000,
) -> list[DeletableTopicResult]:
    """Names are sent as the version sends them."""
    if version < STATES_SINCE:
        names = [topic for topic in topics if isinstance(topic, str)]
        request = DeleteTopicsRequest(topic_names=names, timeout_ms=timeout_ms)
    else:
        states = [by_name(topic) if isinstance(topic, str) else topic for topic in topics]
        request = DeleteTopicsRequest(topics=states, timeout_ms=timeout_ms)
    return list((await served.ask(request, version)).responses)


def names(served: ServedBroker) -> list[str]:
    return sorted(served.broker.metadata.image.topics)


@pytest.mark.parametrize("version", stable(DeleteTopicsRequest))
async def test_topics_are_deleted_by_name_and_an_unknown_name_fails_alone(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("a")
        await served.create_topic("b")
        gone = await delete(served, "a", "unknown", version=version)

        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert [(topic.name, topic.error_code) for topic in gone] == [
            ("a", 0),
            ("unknown", unknown),
        ]
        assert gone[0].topic_id == (topic_id if version >= STATES_SINCE else ZERO_TOPIC_ID)
        assert gone[1].topic_id == ZERO_TOPIC_ID
        assert gone[0].error_message is None
        assert gone[1].error_message == ("no topic unknown" if version >= 5 else None)
        assert names(served) == ["b"]


async def test_topics_are_deleted_by_id(autojump_clock: MockClock) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("a")
        gone = await delete(served, by_id(topic_id), by_id(UNKNOWN_ID))

        assert [(topic.name, topic.topic_id, topic.error_code) for topic in gone] == [
            ("a", topic_id, 0),
            (None, UNKNOWN_ID, ErrorCode.UNKNOWN_TOPIC_ID),
        ]
        assert names(served) == []


@pytest.mark.parametrize("version", stable(DeleteTopicsRequest))
async def test_a_topic_named_twice_is_not_deleted(autojump_clock: MockClock, version: int) -> None:
    async with broker() as served:
        for name in ("a", "b"):
            await served.create_topic(name)
        gone = await delete(served, "a", "b", "a", version=version)

        assert [(topic.name, topic.error_code) for topic in gone] == [
            ("a", ErrorCode.INVALID_REQUEST),
            ("b", 0),
        ]
        assert names(served) == ["a"]


async def test_a_topic_named_by_both_name_and_id_is_not_deleted(autojump_clock: MockClock) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("a")
        gone = await delete(served, "a", by_id(topic_id))

        assert [(topic.name, topic.topic_id, topic.error_code) for topic in gone] == [
            ("a", ZERO_TOPIC_ID, ErrorCode.INVALID_REQUEST),
            (None, topic_id, ErrorCode.INVALID_REQUEST),
        ]
        assert names(served) == ["a"]


async def test_an_entry_with_both_name_and_id_or_neither_is_refused_and_others_are_deleted(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("a")
        await served.create_topic("b")
        wrong = DeleteTopicState("a", topic_id), by_id(ZERO_TOPIC_ID)
        gone = await delete(served, *wrong, "b")

        assert [(topic.name, topic.topic_id, topic.error_code) for topic in gone[1:]] == [
            ("a", topic_id, ErrorCode.INVALID_REQUEST),
            (None, ZERO_TOPIC_ID, ErrorCode.INVALID_REQUEST),
        ]
        assert (gone[0].name, gone[0].error_code) == ("b", 0)
        assert "expected one of them" in gone[1].error_message
        assert names(served) == ["a"]


@pytest.mark.parametrize("version", stable(DeleteTopicsRequest))
async def test_no_topic_is_deleted_when_delete_topic_enable_is_false(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker({"delete.topic.enable": "false"}) as served:
        await served.create_topic("a")
        gone = await delete(served, "a", "unknown", version=version)

        disabled = ErrorCode.TOPIC_DELETION_DISABLED
        code = disabled if version >= 3 else ErrorCode.INVALID_REQUEST
        assert codes(gone) == [code, code]
        assert names(served) == ["a"]


@pytest.mark.parametrize("timeout_ms", [0, -1])
async def test_a_request_without_a_timeout_times_out_and_the_topic_is_still_deleted(
    autojump_clock: MockClock, timeout_ms: int
) -> None:
    async with broker() as served:
        await served.create_topic("a")
        gone = await delete(served, "a", timeout_ms=timeout_ms)
        await trio.sleep(1)

        assert codes(gone) == [ErrorCode.REQUEST_TIMED_OUT]
        assert names(served) == []


async def test_files_of_a_deleted_topic_are_removed_after_the_delete_delay(
    autojump_clock: MockClock,
) -> None:
    async with broker({"log.segment.delete.delay.ms": "60000"}) as served:
        await served.create_topic("a")
        await write(served, "a", b"value")
        root = served.broker.world.directory("/data")

        def partition_directories() -> list[str]:
            return [name.split(".")[0] for name in root.names() if name.startswith("a-0")]

        await delete(served, "a")
        assert partition_directories() == ["a-0"]
        await trio.sleep(59)
        assert partition_directories() == ["a-0"]
        await trio.sleep(60)
        assert partition_directories() == []


async def test_a_request_without_topics_deletes_no_topic(autojump_clock: MockClock) -> None:
    async with broker() as served:
        assert await delete(served) == []
