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
def resolver(broker: BrokerProcess, **given: str) -> Iterator[Resolver]:
    where = {"kafka.bootstrap.servers": broker.bootstrap, "fetchOffset.retryIntervalMs": "1"}
    options = parse({**where, **given}, Mode.STREAM)
    with Cluster(options.client) as cluster:
        yield Resolver(options=options, cluster=cluster)


@pytest.fixture
def filled(sampled_broker: BrokerProcess, topic: str) -> str:
    """A topic with 20 records in two partitions, a millisecond apart."""
    create_topic(sampled_broker.bootstrap, topic)
    produce(sampled_broker.bootstrap, topic, numbered(20))
    return topic


def test_earliest_and_latest_stay_open_until_they_are_resolved(
    sampled_broker: BrokerProcess, filled: str
) -> None:
    p0, p1 = TopicPartition(filled, 0), TopicPartition(filled, 1)
    with resolver(sampled_broker, subscribe=filled, startingOffsets="earliest") as one:
        start = one.position(one.options.start, starting=True)

        assert start == {p0: EARLIEST, p1: EARLIEST}
        assert one.resolved({p0: EARLIEST, p1: LATEST}) == {p0: 0, p1: 10}
        assert one.resolved({p0: 4}) == {p0: 4}


def test_a_timestamp_finds_the_first_record_that_is_as_late(
    sampled_broker: BrokerProcess, filled: str
) -> None:
    given = {"subscribe": filled, "startingTimestamp": str(FIRST_MS + 5)}
    with resolver(sampled_broker, **given) as one:
        start = one.position(one.options.start, starting=True)

    assert start == {TopicPartition(filled, 0): 3, TopicPartition(filled, 1): 2}


def test_a_timestamp_after_all_records_is_an_error_or_the_end(
    sampled_broker: BrokerProcess, filled: str
) -> None:
    given = {"subscribe": filled, "startingTimestamp": str(FIRST_MS + 1000)}
    strategy = "startingOffsetsByTimestampStrategy"
    with resolver(sampled_broker, **given) as one:
        with pytest.raises(OptionError, match=f"no record of .* is as late .* {FIRST_MS + 1000}"):
            one.position(one.options.start, starting=True)
        assert set(one.position(one.options.start, starting=False).values()) == {LATEST}
    with resolver(sampled_broker, **given, **{strategy: "latest"}) as one:
        assert set(one.position(one.options.start, starting=True).values()) == {LATEST}


@pytest.mark.parametrize(
    ("name", "condition"),
    [
        ("startingOffsets", "KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED"),
        ("startingOffsetsByTimestamp", "KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED"),
    ],
)
@pytest.mark.parametrize("partitions", ['{"0":1}', '{"0":1,"1":1,"2":1}'])
def test_all_assigned_partitions_must_be_given_and_no_other(
    sampled_broker: BrokerProcess,
    filled: str,
    name: str,
    condition: str,
    partitions: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    given = {"subscribe": filled, name: f'{{"{filled}":{partitions}}}'}
    with resolver(sampled_broker, **given) as one, pytest.raises(SourceError) as caught:
        one.position(one.options.start, starting=True)

    assert caught.value.condition == condition
    assert "asked for again" not in caplog.text
    assert f"[{filled}-0, {filled}-1]" in str(caught.value)


def test_a_topic_that_does_not_exist_is_asked_for_again_and_then_named(
    sampled_broker: BrokerProcess, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        resolver(sampled_broker, subscribe="no-such-topic") as one,
        pytest.raises(UnknownTopicError, match="topic no-such-topic does not exist"),
    ):
        one.position(one.options.start, starting=True)

    assert caplog.text.count("offsets asked for again after attempt") == 2


def test_a_pattern_chooses_topics_and_no_internal_ones(
    sampled_broker: BrokerProcess, filled: str
) -> None:
    with resolver(sampled_broker, subscribePattern=filled[-12:]) as one:
        assert {tp.topic for tp in one.assigned(all_named=True)} == {filled}
    with resolver(sampled_broker, subscribePattern=".*") as one:
        assert not any(tp.topic.startswith("__") for tp in one.assigned(all_named=True))


def test_assigned_partitions_are_those_alone(sampled_broker: BrokerProcess, filled: str) -> None:
    with resolver(sampled_broker, assign=f'{{"{filled}":[1]}}') as one:
        assert one.latest({}) == {TopicPartition(filled, 1): 10}


def test_ends_below_known_offsets_are_asked_for_again_and_then_returned(
    sampled_broker: BrokerProcess, filled: str, caplog: pytest.LogCaptureFixture
) -> None:
    p0, p1 = TopicPartition(filled, 0), TopicPartition(filled, 1)
    with resolver(sampled_broker, subscribe=filled) as one:
        assert one.latest({p0: 99}) == {p0: 10, p1: 10}

    assert caplog.text.count(f"latest offsets went back, or are gone: [{p0}]") == 2


def test_deleted_topics_are_left_out_of_ends_and_first_offsets(
    sampled_broker: BrokerProcess, filled: str
) -> None:
    other = create_topic(sampled_broker.bootstrap, f"{filled}-other", partitions=1)
    p0 = TopicPartition(other, 0)
    with resolver(sampled_broker, subscribe=f"{filled},{other}") as one:
        assert p0 in one.latest({})
        delete_topic(sampled_broker.bootstrap, other)

        assert p0 not in one.latest({p0: 0})
        assert one.earliest([p0, TopicPartition(filled, 0)]) == {TopicPartition(filled, 0): 0}
        assert one.earliest([]) == {}


def test_committed_reads_end_before_an_open_transaction(sampled_broker: BrokerProcess) -> None:
    p0 = TopicPartition("txn", 0)
    with resolver(sampled_broker, subscribe="txn") as one:
        assert one.latest({}) == {p0: 34}
    with resolver(
        sampled_broker, subscribe="txn", **{"kafka.isolation.level": "read_committed"}
    ) as one:
        assert one.latest({}) == {p0: 31}
