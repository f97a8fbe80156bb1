"""Facts of topics for plugins, and what a principal may see of them."""

import pytest
from trio.testing import MockClock

from tests.apis.authorizers import RuleAuthorizer
from tests.apis.kit import batch, broker, fetch, produce, write
from tests.apis.test_k09_offset_fetch import commit
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.plugin_host.topic_access import (
    read_topic_as,
    read_topic_page_as,
    read_traffic_as,
)
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import NOBODY, Principal
from trio_kafka.security.resources import ResourceType
from trio_kafka.testing.broker import ServedBroker

ALICE = Principal("User", "alice")


async def two_topics(served: ServedBroker) -> None:
    await served.create_topic("orders", 2, {"retention.ms": "1000"})
    await served.create_topic("returns")
    await write(served, "orders", b"a", b"b")
    await served.serve_groups("g", "h")
    await commit(served, "g", "orders", 0, 1)
    await commit(served, "h", "returns", 0, 0)


async def test_page_of_topics_has_their_facts_in_order(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await two_topics(served)
        parts = served.broker.parts

        page = await read_topic_page_as(NOBODY, parts, most=2, rate_of=lambda name: 0.0)
        second = await read_topic_page_as(
            NOBODY, parts, first=1, most=1, rate_of=lambda name: float(name == "returns")
        )
        named = await read_topic_page_as(NOBODY, parts, of="RET", most=9, rate_of=lambda name: 0.0)

    assert [topic.name for topic in page.topics] == ["orders", "returns"]
    assert page.total == 3  # with __consumer_offsets
    assert (page.topics[0].records, page.topics[0].records_in) == (2, 2)
    assert page.topics[0].groups == ("g",)
    assert [topic.name for topic in second.topics] == ["orders"]
    assert ([topic.name for topic in named.topics], named.total) == (["returns"], 1)


async def test_traffic_is_that_of_topics_with_traffic(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await two_topics(served)
        await fetch(served, "orders")

        traffic = await read_traffic_as(NOBODY, served.broker.parts)

    bytes_in, records_in, bytes_out = traffic["orders"]
    assert records_in == 2
    assert bytes_in == bytes_out > 0
    assert "returns" not in traffic


async def test_one_topic_has_partitions_producers_settings_and_readers(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await two_topics(served)
        records = batch(b"x", producer_id=7, producer_epoch=1, base_sequence=0)
        await produce(served, "orders", records, partition=1)
        parts = served.broker.parts

        details = await read_topic_as(NOBODY, parts, "orders", most=10)
        cut = await read_topic_as(NOBODY, parts, "orders", most=1)
        none = await read_topic_as(NOBODY, parts, "unknown", most=10)

    assert none is None
    assert details is not None
    assert cut is not None
    assert [partition.end for partition in details.partitions] == [2, 1]
    assert len(cut.partitions) == 1
    assert details.producers is not None
    assert [producer.producer_id for producer in details.producers] == [7]
    assert details.producers_total == 1
    assert details.settings is not None
    first = details.settings[0]
    assert (first.name, first.value, first.source) == ("retention.ms", "1000", "topic")
    assert {setting.source for setting in details.settings[1:]} == {
        "all brokers, dynamic",
        "default",
    }
    assert details.settings[-1].source == "default"
    assert [(reader.group_id, reader.lag) for reader in details.readers] == [("g", 1)]


async def test_topics_and_groups_that_the_principal_may_not_describe_are_left_out(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await two_topics(served)
        parts = served.broker.parts
        parts.authorizer = rule = RuleAuthorizer(
            lambda operation, resource: (
                operation is Operation.DESCRIBE and resource.name in ("orders", "h")
            )
        )

        page = await read_topic_page_as(ALICE, parts, most=9, rate_of=lambda name: 0.0)
        traffic = await read_traffic_as(ALICE, parts)
        details = await read_topic_as(ALICE, parts, "orders", most=9)
        with pytest.raises(KafkaError, match="User:alice has no permission DESCRIBE on topic"):
            await read_topic_as(ALICE, parts, "returns", most=9)

    assert [(topic.name, topic.groups) for topic in page.topics] == [("orders", ())]
    assert page.total == 1
    assert set(traffic) == {"orders"}
    assert details is not None
    assert (details.producers, details.settings, details.readers) == (None, None, ())
    assert rule.decisions == {
        (Operation.DESCRIBE, ResourceType.TOPIC),
        (Operation.DESCRIBE, ResourceType.GROUP),
        (Operation.READ, ResourceType.TOPIC),
        (Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC),
    }


async def test_denied_topic_has_the_error_code_of_topics(autojump_clock: MockClock) -> None:
    async with broker() as served:
        parts = served.broker.parts
        parts.authorizer = RuleAuthorizer(lambda operation, resource: False)
        with pytest.raises(KafkaError) as caught:
            await read_topic_as(ALICE, parts, "orders", most=9)

    assert caught.value.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED
