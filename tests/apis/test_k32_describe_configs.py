"""DescribeConfigs: values, where they come from, and what is not told."""

import logging
from collections.abc import Sequence
from types import SimpleNamespace

import pytest
from trio.testing import MockClock

from tests.apis.kit import broker, stable
from trio_kafka.controller.configs import ConfigChange, Operation
from trio_kafka.errors import ErrorCode
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import ConfigResourceType
from trio_kafka.pending import Work
from trio_kafka.plugin import Context
from trio_kafka.protocol.messages.k32_describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
)
from trio_kafka.protocol.size_check import size_check
from trio_kafka.scheduling.chunked_work import whole
from trio_kafka.testing.broker import ServedBroker
from trio_kafka_apis.k32_describe_configs import describe_configs

TOPIC, BROKER, LOGGER = (
    ConfigResourceType.TOPIC,
    ConfigResourceType.BROKER,
    ConfigResourceType.BROKER_LOGGER,
)
# Sources, by their numbers.
OF_TOPIC, OF_BROKER, OF_ALL_BROKERS, WRITTEN_DOWN, DEFAULT, OF_LOGGER = 1, 2, 3, 4, 5, 6
BOOLEAN, LONG, LIST = 1, 5, 7  # types (KIP-569)


async def describe(
    served: ServedBroker,
    kind: int,
    name: str,
    keys: Sequence[str] | None = None,
    *,
    version: int = 4,
    synonyms: bool = False,
    doc: bool = False,
) -> DescribeConfigsResult:
    resource = DescribeConfigsResource(kind, name, None if keys is None else list(keys))
    request = DescribeConfigsRequest([resource], synonyms, include_documentation=doc)
    (result,) = (await served.ask(request, version)).results
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result


def rows(result: DescribeConfigsResult) -> dict[str, DescribeConfigsResourceResult]:
    assert (result.error_code, result.error_message) == (0, "")
    return {row.name: row for row in result.configs}


async def change(served: ServedBroker, kind: ConfigResourceType, name: str, **values: str) -> None:
    """Set settings while the broker runs; `_` in a name stands for `.`."""
    changes = [
        ConfigChange(key.replace("_", "."), Operation.SET, text) for key, text in values.items()
    ]
    errors = await served.broker.controller.alter_configs({(kind, name): changes})
    assert errors == {(kind, name): None}


@pytest.mark.parametrize("version", stable(DescribeConfigsRequest))
async def test_topic_settings_are_described_with_their_sources_in_every_version(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker({"log.segment.bytes": "2000000"}) as served:
        await served.create_topic("t", configs={"retention.ms": "1000"})
        result = rows(await describe(served, TOPIC, "t", version=version))

    assert len(result) > 20
    own, inherited, default = (
        result[name] for name in ("retention.ms", "segment.bytes", "cleanup.policy")
    )
    assert (own.value, own.config_source) == ("1000", OF_TOPIC)
    assert (inherited.value, inherited.config_source) == ("2000000", WRITTEN_DOWN)
    assert (default.value, default.config_source) == ("delete", DEFAULT)
    assert (own.config_type, default.config_type) == ((LONG, LIST) if version >= 3 else (0, 0))
    for row in result.values():
        assert (row.synonyms, row.documentation or None) == ([], None)
        assert (row.read_only, row.is_sensitive) == (False, False)


@pytest.mark.parametrize("version", stable(DescribeConfigsRequest))
async def test_synonyms_are_returned_on_request_in_order_of_precedence(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker({"log.retention.ms": "70000"}) as served:
        await served.create_topic("t", configs={"retention.ms": "1000"})
        result = await describe(
            served, TOPIC, "t", ["retention.ms"], version=version, synonyms=True
        )

    synonyms = [
        (synonym.name, synonym.value, synonym.source)
        for synonym in rows(result)["retention.ms"].synonyms
    ]
    assert synonyms[:2] == [
        ("retention.ms", "1000", OF_TOPIC),
        ("log.retention.ms", "70000", WRITTEN_DOWN),
    ]


@pytest.mark.parametrize("version", [3, 4])
@pytest.mark.parametrize(("kind", "name"), [(TOPIC, "t"), (BROKER, "1"), (BROKER, "")])
async def test_documentation_of_settings_is_returned_only_on_request(
    autojump_clock: MockClock, kind: int, name: str, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        with_docs = rows(await describe(served, kind, name, version=version, doc=True))
        silent = rows(await describe(served, kind, name, version=version))

    assert with_docs.keys() == silent.keys() != set()
    assert [
        row.name for row in with_docs.values() if not (row.documentation or "").endswith(".")
    ] == []
    assert [row.name for row in silent.values() if row.documentation is not None] == []


async def test_only_named_settings_are_returned_and_unknown_names_are_left_out(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        expected = ["segment.bytes", "no.such", "retention.ms"]

        assert set(rows(await describe(served, TOPIC, "t", expected))) == {
            "segment.bytes",
            "retention.ms",
        }
        assert rows(await describe(served, TOPIC, "t", ["no.such"])) == {}
        everything = rows(await describe(served, TOPIC, "t"))
        assert rows(await describe(served, TOPIC, "t", [])) == everything


async def test_the_settings_of_this_broker_are_described(autojump_clock: MockClock) -> None:
    async with broker({"num.io.threads": "3"}) as served:
        result = rows(await describe(served, BROKER, "1", synonyms=True))

    assert (result["num.io.threads"].value, result["num.io.threads"].config_source) == (
        "3",
        WRITTEN_DOWN,
    )
    assert not result["num.io.threads"].read_only
    assert result["node.id"].read_only
    assert result["auto.create.topics.enable"].config_type == BOOLEAN
    synonyms = [(synonym.value, synonym.source) for synonym in result["num.io.threads"].synonyms]
    assert synonyms == [("3", WRITTEN_DOWN), ("8", DEFAULT)]


async def test_dynamic_changes_are_described_at_once_in_order_of_precedence(
    autojump_clock: MockClock,
) -> None:
    async with broker({"log.retention.ms": "3"}) as served:
        await served.create_topic("t")

        async def values_and_sources() -> tuple[tuple[str | None, int], ...]:
            name = "log.retention.ms"
            of_broker = rows(await describe(served, BROKER, "1", [name]))[name]
            of_topic = rows(await describe(served, TOPIC, "t", ["retention.ms"]))["retention.ms"]
            return tuple((row.value, row.config_source) for row in (of_broker, of_topic))

        assert await values_and_sources() == (("3", WRITTEN_DOWN),) * 2
        await change(served, BROKER, "", log_retention_ms="4")
        assert await values_and_sources() == (("4", OF_ALL_BROKERS),) * 2
        await change(served, BROKER, "1", log_retention_ms="5")
        assert await values_and_sources() == (("5", OF_BROKER),) * 2
        await change(served, TOPIC, "t", retention_ms="6")
        assert await values_and_sources() == (("5", OF_BROKER), ("6", OF_TOPIC))


async def test_the_default_broker_resource_has_only_the_cluster_wide_settings(
    autojump_clock: MockClock,
) -> None:
    async with broker({"num.io.threads": "3"}) as served:
        first = rows(await describe(served, BROKER, ""))
        assert set(first) == {"min.insync.replicas"}  # which a new cluster writes down itself

        await change(served, BROKER, "", num_io_threads="4")
        result = rows(await describe(served, BROKER, ""))
        assert set(result) == {"min.insync.replicas", "num.io.threads"}
        row = result["num.io.threads"]
        assert (row.value, row.config_source) == ("4", OF_ALL_BROKERS)


REFUSED = [
    (TOPIC, "unknown", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "no topic unknown"),
    (TOPIC, "a b", ErrorCode.INVALID_TOPIC_EXCEPTION, "expected ASCII"),
    (TOPIC, "", ErrorCode.INVALID_TOPIC_EXCEPTION, "empty"),
    (BROKER, "2", ErrorCode.INVALID_REQUEST, "broker id '2': expected 1"),
    (BROKER, "x", ErrorCode.INVALID_REQUEST, "broker id 'x': expected a number"),
    (LOGGER, "", ErrorCode.INVALID_REQUEST, "broker id '': expected a number"),
    (LOGGER, "2", ErrorCode.INVALID_REQUEST, "broker id '2': expected 1"),
    (16, "", ErrorCode.INVALID_REQUEST, "an empty subscription name"),
    (32, "", ErrorCode.INVALID_REQUEST, "an empty group name"),
    (0, "", ErrorCode.INVALID_REQUEST, "resource type 0"),
    (99, "", ErrorCode.INVALID_REQUEST, "resource type 99"),
]


@pytest.mark.parametrize("version", stable(DescribeConfigsRequest))
async def test_an_unknown_resource_is_refused_with_a_reason(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        for kind, name, code, message in REFUSED:
            result = await describe(served, kind, name, version=version)

            assert result.error_code == code, (kind, name)
            assert message in (result.error_message or "")
            assert result.configs == [], (kind, name)


@pytest.mark.parametrize("version", stable(DescribeConfigsRequest))
async def test_loggers_are_described_with_their_levels(
    autojump_clock: MockClock, version: int
) -> None:
    logger = logging.getLogger("trio_kafka.tests.describe")
    logger.setLevel("ERROR")
    try:
        async with broker() as served:
            everything = rows(await describe(served, LOGGER, "1", version=version))
            named = await describe(served, LOGGER, "1", [logger.name, "none"], version=version)
    finally:
        logger.setLevel("NOTSET")

    assert everything["root"].value in ("DEBUG", "INFO", "WARN")
    assert everything["trio_kafka.tests"].value == everything["root"].value
    assert [(config.name, config.value) for config in named.configs] == [(logger.name, "ERROR")]
    for row in everything.values():
        assert (row.config_source, row.config_type, row.synonyms) == (OF_LOGGER, 0, [])
        assert (row.read_only, row.is_sensitive, row.documentation or None) == (False, False, None)


async def test_an_unknown_resource_type_makes_the_whole_request_invalid(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        resources = [DescribeConfigsResource(BROKER, "1"), DescribeConfigsResource(99, "x")]
        results = (await served.ask(DescribeConfigsRequest(resources), 4)).results

    assert [
        (result.error_code, result.resource_type, result.resource_name) for result in results
    ] == [
        (ErrorCode.INVALID_REQUEST, BROKER, "1"),
        (ErrorCode.INVALID_REQUEST, 99, "x"),
    ]


async def test_settings_stored_by_another_release_do_not_hide_the_others(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t", configs={"retention.ms": "7"})
        cache = served.broker.metadata
        delta = MetadataDelta(cache.image)
        delta.config((TOPIC, "t"))["message.format.version"] = "2.8"
        delta.config((BROKER, "1")).update({"no.such": "1", "message.max.bytes": "5000"})
        cache.publish(delta, delta.apply(cache.image.offset, 1, 0))
        of_topic = rows(await describe(served, TOPIC, "t"))
        of_broker = rows(await describe(served, BROKER, "1"))
        await served.create_topic("u")  # is told its settings

    assert (of_topic["retention.ms"].value, "message.format.version" in of_topic) == ("7", False)
    assert of_topic["max.message.bytes"].value == "5000"
    assert (of_broker["message.max.bytes"].value, "no.such" in of_broker) == ("5000", False)


async def test_many_resources_are_described_in_steps(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        resources = [DescribeConfigsResource(32, f"g{n}") for n in range(150)]
        request = DescribeConfigsRequest(resources)
        answer = await served.ask(request, 4)
        network_request = SimpleNamespace(code=32 << 16 | 4)
        work = describe_configs(request, Context(network_request, served.broker.parts, 4))  # type: ignore[arg-type]
        assert isinstance(work, Work)
        response = whole(work.steps)

    assert size_check(type(response))(response), "its items are made while it is written"
    assert [len(result.configs) for result in answer.results] == [
        len(answer.results[0].configs)
    ] * 150


async def test_a_resource_named_repeatedly_is_described_once(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        twice = [DescribeConfigsResource(TOPIC, "t") for _ in range(1000)]
        keys = DescribeConfigsResource(TOPIC, "t", ["retention.ms"])
        results = (await served.ask(DescribeConfigsRequest([*twice, keys, keys]), 4)).results

    (result,) = results
    assert len(result.configs) > 1


async def test_a_resource_named_repeatedly_has_the_settings_of_all_its_entries(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        resources = [
            DescribeConfigsResource(TOPIC, "t", [name, f"unknown-{number}"])
            for number, name in enumerate(["retention.ms", "cleanup.policy", "retention.ms"])
        ]
        results = (await served.ask(DescribeConfigsRequest(resources), 4)).results

    (result,) = results
    assert {config.name for config in result.configs} == {"retention.ms", "cleanup.policy"}


async def test_each_resource_is_answered_independently_in_the_order_of_the_request(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        resources = [(TOPIC, "unknown"), (BROKER, "1"), (TOPIC, "t"), (BROKER, "9")]
        request = DescribeConfigsRequest(
            [DescribeConfigsResource(*resource) for resource in resources]
        )
        results = (await served.ask(request, 4)).results

    assert [(result.resource_type, result.resource_name) for result in results] == resources
    assert [bool(result.configs) for result in results] == [False, True, True, False]
