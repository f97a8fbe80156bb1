"""The request log of a whole broker: by settings, by Kafka's logger, and not fed by its readers."""

import json
import logging
from collections.abc import Iterator

import pytest
import trio
from trio.testing import MockClock

from tests.requests.request_log.test_sinks import content, values
from trio_kafka.errors import ErrorCode
from trio_kafka.introspect.levels import set_level
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import ConfigResourceType
from trio_kafka.model import NodeId
from trio_kafka.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from trio_kafka.requests.request_log.sinks import LOGGER
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world

BROKER, BROKER_LOGGER = 4, 8


@pytest.fixture(autouse=True)
def silent() -> Iterator[None]:
    """Levels are the process's: put back."""
    yield
    logging.getLogger(LOGGER).setLevel(logging.WARNING)


async def alter(served: ServedBroker, kind: int, **settings: str) -> None:
    changes = [AlterableConfig(name.replace("_", "."), 0, text) for name, text in settings.items()]
    name = "1" if kind == BROKER_LOGGER else ""
    resource = AlterConfigsResource(kind, name, changes)
    (answer,) = (await served.ask(IncrementalAlterConfigsRequest([resource]))).responses
    assert answer.error_code == 0, answer.error_message


async def test_request_log_to_a_topic_can_be_enabled_while_the_broker_runs(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        await served.ask(ApiVersionsRequest("c", "1"))
        await alter(served, BROKER, trio_request_log="topic", trio_request_log_apis="Metadata")
        await served.ask(MetadataRequest(topics=[]))
        await served.ask(ApiVersionsRequest("c", "1"))
        await served.broker.request_log.drain()
        await alter(served, BROKER, trio_request_log="off")
        await served.ask(MetadataRequest(topics=[]))
        await served.broker.request_log.drain()

        lines = [json.loads(value) for value in await values(served, "trio-request-log", 0)]

    assert [line["requestHeader"]["requestApiKeyName"] for line in lines] == ["METADATA"]


async def test_fetching_the_request_log_topic_is_not_logged(autojump_clock: MockClock) -> None:
    settings = {"trio.request.log": "topic"}
    async with served_broker(simulated_world(), settings) as served:
        await served.ask(MetadataRequest(topics=[]))
        await served.broker.request_log.drain()
        image = served.broker.metadata.image
        topic = FetchTopic(
            topic_id=image.topics["trio-request-log"].id,
            partitions=[FetchPartition(partition_max_bytes=1 << 20)],
        )
        other = FetchRequest(replica_id=NodeId(-1), max_wait_ms=10, topics=[])
        for _ in range(3):
            await served.ask(FetchRequest(max_wait_ms=10, max_bytes=1 << 20, topics=[topic]))
            await served.ask(other)
            await trio.sleep(1)
        await served.broker.request_log.drain()

        lines = [json.loads(value) for value in await values(served, "trio-request-log", 0)]
    assert "FETCH" not in {line["requestHeader"]["requestApiKeyName"] for line in lines}
    assert lines[0]["requestHeader"]["requestApiKeyName"] == "METADATA"


async def test_request_log_file_contains_the_last_requests_after_the_stop(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    settings = {"trio.request.log": "file", "trio.request.log.file": "/logs/requests"}
    async with served_broker(world, settings) as served:
        for _ in range(20):
            await served.ask(MetadataRequest(topics=[]))

    lines = content(world, "requests").splitlines()
    assert len(lines) == 20
    assert json.loads(lines[-1])["requestHeader"]["requestApiKey"] == 3


async def test_content_of_a_large_request_is_left_out_of_the_request_log(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    settings = {"trio.request.log": "file", "trio.request.log.file": "/logs/requests"}
    async with served_broker(world, settings) as served:
        for count in (10, 1000):
            names = [f"{number:0>80}" for number in range(count)]
            topics = [MetadataRequestTopic(name=name) for name in names]
            await served.ask(MetadataRequest(topics=topics, allow_auto_topic_creation=False))

    small, large = map(json.loads, content(world, "requests").splitlines())
    assert len(small["request"]["topics"]) == 10
    assert (large["request"], large["requestSizeBytes"] > 64 << 10) == (None, True)


@pytest.mark.parametrize("level", ["DEBUG", "TRACE"])
async def test_level_of_kafkas_request_logger_switches_the_request_log_on_and_off(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture, level: str
) -> None:
    def logged_lines() -> list[str]:
        return [record.getMessage() for record in caplog.records if record.name == LOGGER]

    async with served_broker(simulated_world()) as served:
        await served.ask(MetadataRequest(topics=[]))
        assert logged_lines() == []

        changed = AlterableConfig(LOGGER, 0, level)
        resource = AlterConfigsResource(BROKER_LOGGER, "1", [changed])
        await served.ask(IncrementalAlterConfigsRequest([resource]))
        await served.ask(MetadataRequest(topics=[]))
        await served.broker.request_log.drain()
        (line,) = [message for message in logged_lines() if "METADATA" in message]
        assert line.startswith('Completed request:{"isForwarded":false,')

        set_level(LOGGER, "WARN")
        caplog.clear()
        await served.ask(MetadataRequest(topics=[]))
        await served.broker.request_log.drain()
        assert logged_lines() == []
        assert len(served.broker.parts.interceptors) == 0


async def test_request_log_to_an_unnamed_file_is_disabled_with_a_message(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with served_broker(simulated_world(), {"trio.request.log": "file"}) as served:
        await served.ask(MetadataRequest(topics=[]))

    assert "request log disabled, set trio.request.log.file" in caplog.messages


async def test_request_log_file_set_by_a_client_is_refused_and_ignored_if_stored(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    world = simulated_world()
    hostile = {"trio.request.log": "file", "trio.request.log.file": "/etc/victim"}
    changes = [AlterableConfig(name, 0, text) for name, text in hostile.items()]
    async with served_broker(world) as served:
        resource = AlterConfigsResource(BROKER, "", changes)
        (answer,) = (await served.ask(IncrementalAlterConfigsRequest([resource]))).responses
        assert ErrorCode(answer.error_code) is ErrorCode.INVALID_REQUEST

        delta = MetadataDelta(served.broker.metadata.image)
        delta.config((ConfigResourceType.BROKER, "")).update(hostile)
        stored = delta.apply(served.broker.metadata.image.offset + 1, 0, 0)
        settings = served.broker.parts.settings.of(stored)

    assert (settings.trio_request_log, settings.trio_request_log_file) == ("file", None)
    assert "broker settings in the metadata rejected" in caplog.messages
