"""AlterConfigs: all settings of a resource at once."""

import logging

import pytest
from trio.testing import MockClock

from tests.apis.configs import (
    BROKER,
    GROUP,
    LOGGER,
    METRICS,
    SET,
    TOPIC,
    Setting,
    alter,
    own,
    put,
    results,
    settings_of,
    value,
)
from tests.apis.kit import broker, stable
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k33_alter_configs import AlterConfigsRequest
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world

RETENTION, SEGMENT = "retention.ms", "segment.bytes"
LOG_RETENTION, LOG_SEGMENT = "log.retention.ms", "log.segment.bytes"
OK = (0, None)
CONFIG, REQUEST = ErrorCode.INVALID_CONFIG, ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("version", stable(AlterConfigsRequest))
async def test_settings_not_named_are_reset_in_every_version(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t", configs={RETENTION: "1", SEGMENT: "2000000"})

        async def after(*settings: Setting) -> dict[str, object]:
            assert await put(served, TOPIC, "t", *settings, version=version) == OK
            return await own(served, TOPIC, "t", [RETENTION, SEGMENT])

        assert await after((RETENTION, "5")) == {RETENTION: "5"}
        assert await after((SEGMENT, "3000000")) == {SEGMENT: "3000000"}
        assert await after((SEGMENT, "3000000")) == {SEGMENT: "3000000"}
        assert await after() == {}


@pytest.mark.parametrize("version", stable(AlterConfigsRequest))
@pytest.mark.parametrize("name", ["1", ""])
async def test_broker_settings_not_named_are_reset_too(
    autojump_clock: MockClock, version: int, name: str
) -> None:
    both = [LOG_RETENTION, LOG_SEGMENT]
    # What all brokers must have in common is not taken away.
    always = [] if name else [("min.insync.replicas", "1")]
    async with broker() as served:
        await alter(served, BROKER, name, (LOG_RETENTION, SET, "9"), (LOG_SEGMENT, SET, "2000000"))
        await served.create_topic("t")

        assert await put(served, BROKER, name, (LOG_RETENTION, "6"), *always, version=version) == OK
        assert await own(served, BROKER, name, both) == {LOG_RETENTION: "6"}
        assert (await value(served, TOPIC, "t", RETENTION))[0] == "6"
        assert await put(served, BROKER, name, *always, version=version) == OK
        assert await own(served, BROKER, name, both) == {}


INVALID = [
    (TOPIC, "t", [(RETENTION, None)], REQUEST),
    (TOPIC, "t", [(RETENTION, "1"), (RETENTION, "1")], REQUEST),
    (TOPIC, "t", [(RETENTION, "x")], CONFIG),
    (TOPIC, "t", [("no.such", "1")], CONFIG),
    (TOPIC, "unknown", [(RETENTION, "1")], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    (TOPIC, "unknown", [], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    (TOPIC, "a b", [], ErrorCode.INVALID_TOPIC_EXCEPTION),
    (TOPIC, "", [], REQUEST),
    (BROKER, "1", [("num.partitions", "6")], REQUEST),
    (BROKER, "1", [("no.such", "6")], REQUEST),
    (BROKER, "2", [], REQUEST),
    (BROKER, "x", [], REQUEST),
    (BROKER, "", [], CONFIG),  # min.insync.replicas would go
    (BROKER, "", [(LOG_RETENTION, "6")], CONFIG),
    (LOGGER, "1", [("root", "INFO")], REQUEST),
    (METRICS, "m", [("interval.ms", "99")], REQUEST),
    (GROUP, "", [], REQUEST),
    (GROUP, "g", [("consumer.heartbeat.interval.ms", "4999")], CONFIG),
    (99, "t", [], REQUEST),
    (0, "", [], REQUEST),
]


@pytest.mark.parametrize("version", stable(AlterConfigsRequest))
async def test_an_invalid_change_is_refused_and_nothing_is_changed(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t", configs={RETENTION: "1"})
        before = served.broker.metadata.image.configs, logging.getLogger().level
        for kind, name, settings, code in INVALID:
            result, _ = await put(served, kind, name, *settings, version=version)
            after = served.broker.metadata.image.configs, logging.getLogger().level

            assert result == code, (kind, name, settings)
            assert after == before, (kind, name, settings)


@pytest.mark.parametrize("version", stable(AlterConfigsRequest))
async def test_validate_only_returns_the_results_and_changes_nothing(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t", configs={RETENTION: "1"})
        before = served.broker.metadata.image.configs
        result = [
            (await put(served, TOPIC, "t", (RETENTION, text), version=version, validate_only=True))[
                0
            ]
            for text in ("5", "x")
        ]

        assert result == [0, CONFIG]
        assert served.broker.metadata.image.configs is before


async def test_each_resource_is_answered_independently_in_the_order_of_the_request(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t", configs={RETENTION: "1"})
        await served.create_topic("u")
        resources = [
            settings_of(TOPIC, "u", (RETENTION, "7")),
            settings_of(TOPIC, "t"),
            settings_of(BROKER, "1", (LOG_RETENTION, "8")),
            settings_of(TOPIC, "t"),
            settings_of(LOGGER, "1"),
        ]
        answer = await served.ask(AlterConfigsRequest(resources), 2)

        assert results(answer) == [
            (0, TOPIC, "u"),
            (REQUEST, TOPIC, "t"),  # is named twice
            (0, BROKER, "1"),
            (REQUEST, TOPIC, "t"),
            (REQUEST, LOGGER, "1"),
        ]
        assert await own(served, TOPIC, "t", [RETENTION]) == {RETENTION: "1"}
        assert await own(served, TOPIC, "u", [RETENTION]) == {RETENTION: "7"}
        assert results(await served.ask(AlterConfigsRequest([]), 0)) == []


async def test_changed_settings_survive_a_restart(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with served_broker(world) as served:
        await served.create_topic("t", configs={SEGMENT: "2000000"})
        assert await put(served, TOPIC, "t", (RETENTION, "5")) == OK
    async with served_broker(world) as served:
        assert await own(served, TOPIC, "t", [RETENTION, SEGMENT]) == {RETENTION: "5"}
