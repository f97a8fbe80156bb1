"""Positions of options, resolved by a broker."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.trio_kafka_spark.source.kit import (
    FIRST_MS,
    create_topic,
    delete_topic,
    numbered,
    produce,
)
from trio_kafka.model import TopicPartition
from trio_kafka.testing.processes import BrokerProcess
from trio_kafka_spark.client.cluster import Cluster
from trio_kafka_spark.client.errors import OptionError, SourceError, UnknownTopicError
from trio_kafka_spark.source.offsets import EARLIEST, LATEST
from trio_kafka_spark.source.options import Mode, parse
from trio_kafka_spark.source.resolve import Resolver


@contextmanager
def resolver(broker: BrokerProcess, **more: str) -> Iterator[Resolver]:
    where = {"kafka.bootstrap.servers": broker.bootstrap, "fetchOffset.retryIntervalMs": "1"}
    options = parse({**where, **more}, Mode.STREAM)
    with Cluster(options.client) as cluster:
        yield Resolver(options=options, cluster=cluster)


@pytest.fixture
def filled(sampled_broker: BrokerProcess, topic: str) -> str:
    """A topic with 20 records in two partitions, a millisecond apart."""
    create_topic(sampled_broker.bootstrap, topic)
    produce(sampled_broker.bootstrap, topic, numbered(20))
    return topic


def test_earliest_and_latest_become_offsets_only_when_resolved(
    sampled_broker: BrokerProcess, filled: str
) -> None:
    p0, p1 = TopicPartition(filled, 0), TopicPartition(filled, 1)
    with resolver(sampled_broker, subscribe=filled, startingOffsets="earliest") as offset_resolver:
        start = offset_resolver.position(offset_resolver.options.start, starting=True)

        assert start == {p0: EARLIEST, p1: EARLIEST}
        assert offset_resolver.resolved({p0: EARLIEST, p1: LATEST}) == {p0: 0, p1: 10}
        assert offset_resolver.resolved({p0: 4}) == {p0: 4}


def test_a_starting_timestamp_gives_the_first_offset_at_or_after_the_time(
    sampled_broker: BrokerProcess, filled: str
) -> None:
    options = {"subscribe": filled, "startingTimestamp": str(FIRST_MS + 5)}
    with resolver(sampled_broker, **options) as offset_resolver:
        start = offset_resolver.position(offset_resolver.options.start, starting=True)

    assert start == {TopicPartition(filled, 0): 3, TopicPartition(filled, 1): 2}


def test_a_starting_timestamp_after_all_records_is_an_error_or_latest(
    sampled_broker: BrokerProcess, filled: str
) -> None:
    options = {"subscribe": filled, "startingTimestamp": str(FIRST_MS + 1000)}
    strategy = "startingOffsetsByTimestampStrategy"
    with resolver(sampled_broker, **options) as offset_resolver:
        with pytest.raises(OptionError, match=f"no record of .* is as late .* {FIRST_MS + 1000}"):
            offset_resolver.position(offset_resolver.options.start, starting=True)
        assert set(
            offset_resolver.position(offset_resolver.options.start, starting=False).values()
        ) == {LATEST}
    with resolver(sampled_broker, **options, **{strategy: "latest"}) as offset_resolver:
        assert set(
            offset_resolver.position(offset_resolver.options.start, starting=True).values()
        ) == {LATEST}


@pytest.mark.parametrize(
    ("name", "condition"),
    [
        ("startingOffsets", "KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED"),
        ("startingOffsetsByTimestamp", "KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED"),
    ],
)
@pytest.mark.parametrize("partitions", ['{"0":1}', '{"0":1,"1":1,"2":1}'])
def test_starting_offsets_must_name_exactly_the_assigned_partitions(
    sampled_broker: BrokerProcess,
    filled: str,
    name: str,
    condition: str,
    partitions: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    options = {"subscribe": filled, name: f'{{"{filled}":{partitions}}}'}
    with (
        resolver(sampled_broker, **options) as offset_resolver,
        pytest.raises(SourceError) as caught,
    ):
        offset_resolver.position(offset_resolver.options.start, starting=True)

    assert caught.value.condition == condition
    assert "asked for again" not in caplog.text
    assert f"[{filled}-0, {filled}-1]" in str(caught.value)


def test_a_missing_topic_is_requested_three_times_and_then_named_in_an_error(
    sampled_broker: BrokerProcess, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        resolver(sampled_broker, subscribe="no-such-topic") as offset_resolver,
        pytest.raises(UnknownTopicError, match="topic no-such-topic does not exist"),
    ):
        offset_resolver.position(offset_resolver.options.start, starting=True)

    assert caplog.text.count("offsets asked for again after attempt") == 2


def test_a_pattern_selects_topics_but_no_internal_topics(
    sampled_broker: BrokerProcess, filled: str
) -> None:
    with resolver(sampled_broker, subscribePattern=filled[-12:]) as offset_resolver:
        assert {tp.topic for tp in offset_resolver.assigned(all_named=True)} == {filled}
    with resolver(sampled_broker, subscribePattern=".*") as offset_resolver:
        assert not any(tp.topic.startswith("__") for tp in offset_resolver.assigned(all_named=True))


def test_only_the_partitions_of_the_assign_option_are_read(
    sampled_broker: BrokerProcess, filled: str
) -> None:
    with resolver(sampled_broker, assign=f'{{"{filled}":[1]}}') as offset_resolver:
        assert offset_resolver.latest({}) == {TopicPartition(filled, 1): 10}


def test_latest_offsets_below_known_offsets_are_requested_again_and_returned(
    sampled_broker: BrokerProcess, filled: str, caplog: pytest.LogCaptureFixture
) -> None:
    p0, p1 = TopicPartition(filled, 0), TopicPartition(filled, 1)
    with resolver(sampled_broker, subscribe=filled) as offset_resolver:
        assert offset_resolver.latest({p0: 99}) == {p0: 10, p1: 10}

    assert caplog.text.count(f"latest offsets went back, or are gone: [{p0}]") == 2


def test_deleted_topics_are_left_out_of_latest_and_earliest_offsets(
    sampled_broker: BrokerProcess, filled: str
) -> None:
    other = create_topic(sampled_broker.bootstrap, f"{filled}-other", partitions=1)
    p0 = TopicPartition(other, 0)
    with resolver(sampled_broker, subscribe=f"{filled},{other}") as offset_resolver:
        assert p0 in offset_resolver.latest({})
        delete_topic(sampled_broker.bootstrap, other)

        assert p0 not in offset_resolver.latest({p0: 0})
        assert offset_resolver.earliest([p0, TopicPartition(filled, 0)]) == {
            TopicPartition(filled, 0): 0
        }
        assert offset_resolver.earliest([]) == {}


def test_the_latest_offset_of_read_committed_is_before_an_open_transaction(
    sampled_broker: BrokerProcess,
) -> None:
    p0 = TopicPartition("txn", 0)
    with resolver(sampled_broker, subscribe="txn") as offset_resolver:
        assert offset_resolver.latest({}) == {p0: 34}
    with resolver(
        sampled_broker, subscribe="txn", **{"kafka.isolation.level": "read_committed"}
    ) as offset_resolver:
        assert offset_resolver.latest({}) == {p0: 31}
