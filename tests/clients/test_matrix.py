"""Every client against the broker: what one may do with a single broker, but for groups."""

from collections.abc import Callable, Iterable
from time import monotonic
from typing import Any, TypeVar
from uuid import uuid4

import pytest
from attrs import evolve

from tests.clients.catalogue import CLIENTS, REFERENCE, Client
from tests.clients.cluster import Cluster, now_ms
from tests.clients.driver import ClientError
from tests.clients.records import Record, compare, many, rows, rows_of, save_records
from tests.lanes import offset_below, sampled
from trio_kafka.errors import ErrorCode

# Programs are built at their first use.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

Answer = TypeVar("Answer")
Clusters = Callable[[str], Cluster]
Size = Callable[[int, int], int]
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
EPOCH_MS = 1_700_000_000_000
KEPT = {"retention.ms": "-1"}  # records of times so old may go at any moment


def clients_that(step: str) -> pytest.MarkDecorator:
    # Kafka's console tools start a JVM for each step; `java` is the same client.
    names = [client.name for client in CLIENTS.values() if client.can(step)]
    return pytest.mark.parametrize("name", sampled(names, lambda name: name != "console"))


def count(name: str, size: Size) -> int:
    return size(20_000, 1_000_000) if name == REFERENCE.name else size(1000, 20_000)


@clients_that("produce")
@pytest.mark.parametrize("codec", CODECS)
def test_records_are_read_as_they_were_written_with_every_codec(
    clusters: Clusters, name: str, codec: str, size: Size
) -> None:
    cluster = clusters(name)
    topic = cluster.new_topic()

    written = cluster.produce(topic, many(count(name, size)), codec=codec)

    cluster.check(written)


@clients_that("produce")
@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_records_are_read_as_they_were_written_with_every_acks(
    clusters: Clusters, name: str, acks: str, size: Size
) -> None:
    cluster = clusters(name)
    topic = cluster.new_topic()

    written = cluster.produce(topic, many(size(500, 20_000)), acks=acks)

    cluster.check(written)


@clients_that("produce")
def test_an_idempotent_producer_writes_each_record_once_and_in_order(
    clusters: Clusters, name: str, size: Size
) -> None:
    cluster = clusters(name)
    partitions = 3 if cluster.client.partitions else 1
    topic, each = cluster.new_topic(partitions), size(500, 20_000)
    records = [record for p in range(partitions) for record in many(each, p)]

    cluster.check(cluster.produce(topic, records, idempotent=True))


def rich(client: Client) -> list[Record]:
    """Keys, values and headers of every kind that a client knows: null, empty, repeated, binary."""
    headers = (("trace", b"one"), ("trace", b"two"), ("ascii", b"three"))
    records = [
        Record(key=b"key", value=b"value"),
        Record(key=b"key", value="\u00e4\u00f6 \u20ac \U0001f600".encode()),
        Record(key=None, value=b"no key"),
        Record(key=b"tombstone", value=None),
        Record(key=b"empty", value=b""),
        Record(key=b"headers", value=b"value", headers=headers),
        Record(key=b"last", value=b"value"),
    ]
    if client.text:
        return records
    headers = (*headers, ("bytes", b"\x00\xff\xfe"), ("empty", b""), ("\u00fcml", b"1"))
    if client.null_headers:
        headers = (*headers, ("null", None))
    records += [
        Record(key=bytes(range(256)), value=bytes(range(255, -1, -1))),
        Record(key=b"", value=b"an empty key"),
        Record(key=b"k", value=b"v", headers=headers),
    ]
    if client.nothing:
        records.append(Record())
    # Times of their own, not in order.
    return [evolve(r, timestamp=EPOCH_MS + 1000 * n % 4000) for n, r in enumerate(records)]


@clients_that("produce")
def test_keys_headers_timestamps_and_tombstones_are_read_as_written(
    clusters: Clusters, name: str
) -> None:
    cluster = clusters(name)

    cluster.check(cluster.produce(cluster.new_topic(configs=KEPT), rich(cluster.client)))


@clients_that("produce")
def test_a_topic_with_log_append_time_stamps_records_on_arrival(
    clusters: Clusters, name: str
) -> None:
    cluster = clusters(name)
    topic = cluster.new_topic(configs={"message.timestamp.type": "LogAppendTime"})
    plain = [Record(key=b"key", value=b"%d" % n) for n in range(50)]
    early = plain if cluster.client.text else [evolve(r, timestamp=EPOCH_MS) for r in plain]

    written = cluster.produce(topic, early, codec="gzip")

    result, unstamped = cluster.read(topic, [(0, 0, len(plain))]), cluster.file()
    save_records(unstamped, plain)
    compare(unstamped, result, written.since_ms, written.until_ms)


@clients_that("produce")
def test_large_and_empty_records_are_read_as_written(clusters: Clusters, name: str) -> None:
    cluster = clusters(name)
    topic = cluster.new_topic(configs={"max.message.bytes": str(4 << 20)})
    line = b"0123456789abcdef" * 64
    records = [
        Record(key=b"large", value=line * 900),
        Record(key=b"empty", value=b""),
        Record(key=line, value=line * 2048),
        Record(key=b"small", value=b"1"),
    ]

    cluster.check(cluster.produce(topic, records, max_bytes=4_000_000))


@clients_that("produce")
def test_a_record_above_max_message_bytes_of_its_topic_is_refused(
    clusters: Clusters, name: str
) -> None:
    cluster = clusters(name)
    topic = cluster.new_topic(configs={"max.message.bytes": "10000"})

    with pytest.raises(ClientError) as refused:
        cluster.produce(topic, [Record(key=b"key", value=b"x" * 20_000)])

    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE
    assert cluster.ask("offsets", topic=topic, partition=0, times=["latest"]) == [0]


def test_records_written_by_each_client_are_read_by_every_client(
    clusters: Clusters, size: Size
) -> None:
    """A partition for each client and codec; each reader has them all in one assignment."""
    writers = [client for client in CLIENTS.values() if client.partitions]
    reference = clusters(REFERENCE.name)
    topic, each = reference.new_topic(len(writers) * len(CODECS)), size(100, 4000)
    spans, files, since_ms = [], [], now_ms()
    for n, writer in enumerate(writers):
        for m, codec in enumerate(CODECS):
            partition = n * len(CODECS) + m
            records = list(many(each, partition))
            written = clusters(writer.name).produce(topic, records, codec=codec)
            files.append(written.file)
            spans.append((partition, 0, each))
    everything = reference.file()
    everything.write_text("".join(file.read_text() for file in files))
    until_ms = now_ms()

    readers = [client for client in CLIENTS.values() if client.can("read")]
    for reader in readers:
        # Where a partition is a JVM: one of each client, with another codec each.
        few = spans[offset_below(len(CODECS)) :: len(CODECS) + 1]
        chosen = spans if reader.quick else few[: size(2, len(few))]
        result = clusters(reader.name).read(topic, chosen)
        compare(everything, result, since_ms, until_ms, only={span[0] for span in chosen})


@clients_that("read")
def test_a_consumer_reads_from_any_offset(clusters: Clusters, name: str) -> None:
    cluster = clusters(name)
    topic = cluster.new_topic()
    written = cluster.produce(topic, many(500))

    result = cluster.read(topic, [(0, 321, 500)])

    expected = [[0, *row[:1], *row[2:]] for row in rows_of(written.file, 0)][321:]
    assert [[*row[:2], *row[3:]] for row in rows(result)] == expected


@clients_that("offsets")
def test_offsets_are_found_by_time(clusters: Clusters, name: str) -> None:
    cluster, writer = clusters(name), clusters(REFERENCE.name)
    topic = cluster.new_topic(configs=KEPT)
    for batch in range(10):
        times = range(batch * 10_000, (batch + 1) * 10_000, 1000)
        writer.produce(topic, [Record(timestamp=EPOCH_MS + ms, value=b"%d" % ms) for ms in times])
    writer.produce(topic, [Record(timestamp=EPOCH_MS + 5500, value=b"late")])
    expected = {EPOCH_MS + 41_000: 41, EPOCH_MS + 41_001: 42, EPOCH_MS + 99_001: None}
    if cluster.client.quick:
        expected |= {0: 0, EPOCH_MS: 0, EPOCH_MS + 50_000: 50}
    named = {"earliest": 0, "latest": 101, "max_timestamp": 99}
    expected |= {name: named[name] for name in cluster.client.named_offsets}

    result = cluster.ask("offsets", topic=topic, partition=0, times=list(expected))

    assert dict(zip(expected, result, strict=True)) == expected


@clients_that("create_topic")
def test_topics_are_created_described_and_deleted(clusters: Clusters, name: str) -> None:
    cluster = clusters(name)
    topic = f"created-{uuid4().hex[:12]}"
    cluster.ask("create_topic", topic=topic, partitions=4, configs={"retention.ms": "12345"})

    assert settled(lambda: topic in cluster.ask("list_topics"), expected=True)
    assert cluster.ask("describe_topic", topic=topic) == [[n, 1, [1], [1]] for n in range(4)]
    with pytest.raises(ClientError) as refused:
        cluster.ask("create_topic", topic=topic, partitions=1, configs={})
    assert refused.value.code is ErrorCode.TOPIC_ALREADY_EXISTS

    cluster.ask("delete_topic", topic=topic)
    assert not settled(lambda: topic in cluster.ask("list_topics"), expected=False)
    with pytest.raises(ClientError) as refused:
        cluster.ask("delete_topic", topic=topic)
    assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def settled(ask: Callable[[], Answer], expected: Answer) -> Answer:
    """The answer, once it is what is wanted, or the last one of ten seconds.

    What the controller has done Kafka's brokers know a moment later.
    """
    end = monotonic() + 10
    while (answer := ask()) != expected and monotonic() < end:
        pass
    return answer


@clients_that("create_topic")
def test_a_topic_with_an_invalid_name_or_setting_is_refused(clusters: Clusters, name: str) -> None:
    cluster = clusters(name)

    for topic, configs, code in (
        ("not/a/name", {}, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("good-name", {"segment.bytes": "many"}, ErrorCode.INVALID_CONFIG),
    ):
        with pytest.raises(ClientError) as refused:
            cluster.ask("create_topic", topic=topic, partitions=1, configs=configs)
        assert refused.value.code is code


@clients_that("describe_cluster")
def test_the_cluster_is_described(clusters: Clusters, name: str) -> None:
    cluster = clusters(name)
    host, _, port = cluster.bootstrap.partition(":")

    result = cluster.ask("describe_cluster")

    assert result["nodes"] == [[1, host, int(port)]]
    assert result["controller"] in (1, None)
    assert result["cluster_id"] == clusters("java").ask("describe_cluster")["cluster_id"]


@clients_that("describe_configs")
def test_settings_are_described(clusters: Clusters, name: str) -> None:
    cluster = clusters(name)
    topic = cluster.new_topic(configs={"retention.ms": "123456", "cleanup.policy": "delete"})

    of_topic = cluster.ask("describe_configs", kind="topic", name=topic)
    of_broker = cluster.ask("describe_configs", kind="broker", name="1")

    assert of_topic["retention.ms"] == ["123456", True]
    assert of_topic["segment.bytes"] == ["1073741824", False]
    assert of_broker["num.io.threads"] == ["8", False]
    assert of_broker["listeners"][1]
    assert of_topic == clusters(REFERENCE.name).ask("describe_configs", kind="topic", name=topic)


@clients_that("alter_configs")
def test_settings_of_a_topic_are_changed(clusters: Clusters, name: str) -> None:
    cluster = clusters(name)
    configs = {"retention.ms": "1000", "cleanup.policy": "compact,delete"}
    topic = cluster.new_topic(configs=configs)
    changes = {"retention.ms": "2000", "max.message.bytes": "54321"}

    cluster.ask("alter_configs", kind="topic", name=topic, set=changes, delete=["cleanup.policy"])

    expected = {
        "retention.ms": ["2000", True],
        "max.message.bytes": ["54321", True],
        "cleanup.policy": ["delete", False],
    }
    assert settled(lambda: described(clusters, "topic", topic, expected), expected) == expected
    with pytest.raises(ClientError) as refused:
        wrong = {"retention.ms": "long"}
        cluster.ask("alter_configs", kind="topic", name=topic, set=wrong, delete=[])
    assert refused.value.code is ErrorCode.INVALID_CONFIG


@clients_that("alter_configs")
def test_settings_of_a_running_broker_are_changed(clusters: Clusters, name: str) -> None:
    cluster, setting = clusters(name), "log.segment.delete.delay.ms"

    for change, expected in (
        ({"set": {setting: "70000"}, "delete": []}, {setting: ["70000", True]}),
        ({"set": {}, "delete": [setting]}, {setting: ["60000", False]}),
    ):
        cluster.ask("alter_configs", kind="broker", name="1", **change)

        assert (
            settled(lambda want=expected: described(clusters, "broker", "1", want), expected)
            == expected
        )


def described(clusters: Clusters, kind: str, name: str, settings: Iterable[str]) -> dict[str, Any]:
    """Some settings, as the reference sees them."""
    result = clusters(REFERENCE.name).ask("describe_configs", kind=kind, name=name)
    return {setting: result[setting] for setting in settings}


@clients_that("create_partitions")
def test_partitions_of_a_topic_can_be_added_but_not_removed(clusters: Clusters, name: str) -> None:
    cluster = clusters(name)
    topic = cluster.new_topic(1)

    cluster.ask("create_partitions", topic=topic, count=3)

    expected = [[n, 1, [1], [1]] for n in range(3)]
    reference = clusters(REFERENCE.name)
    assert settled(lambda: reference.ask("describe_topic", topic=topic), expected) == expected
    with pytest.raises(ClientError) as refused:
        cluster.ask("create_partitions", topic=topic, count=2)
    assert refused.value.code is ErrorCode.INVALID_PARTITIONS
