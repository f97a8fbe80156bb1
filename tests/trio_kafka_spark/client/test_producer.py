"""The producer against our broker as a process, over connections and brokers that break."""

import contextlib
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Message

from tests.trio_kafka_spark.client.scripted import CLOSE, Handler, Scripted, scripted
from tests.trio_kafka_spark.cutting_proxy import cutting_proxy
from tests.trio_kafka_spark.topics import create_topic, read_topic
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from trio_kafka.protocol.messages.k22_init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from trio_kafka.records.compression import Codec
from trio_kafka.testing.ports import unused_port
from trio_kafka.testing.processes import BrokerProcess, broker_process
from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.client.producer import Producer
from trio_kafka_spark.client.settings import ClientSettings


def settings(bootstrap: str, **options: Any) -> ClientSettings:
    named = {f"kafka.{name.replace('_', '.')}": str(value) for name, value in options.items()}
    return ClientSettings.from_options(
        {"kafka.bootstrap.servers": bootstrap, **named}, for_writing=True
    )


def rows(first: int, stop: int, width: int = 0) -> pa.RecordBatch:
    values = [str(number).encode().ljust(width, b".") for number in range(first, stop)]
    return pa.RecordBatch.from_pydict({"value": pa.array(values, pa.binary())})


def numbers_by_partition(messages: Iterable[Message]) -> dict[int, list[int]]:
    result: dict[int, list[int]] = defaultdict(list)
    for message in messages:
        result[message.partition()].append(int(message.value().rstrip(b".")))
    return dict(result)


@pytest.mark.parametrize("codec", [codec.name.lower() for codec in Codec])
def test_records_are_read_by_a_consumer_as_written_with_each_codec(
    shared_broker: BrokerProcess, codec: str
) -> None:
    topic = f"producer-{codec}"
    headers = pa.array(
        [[("a", b"1"), ("a", None)], None, []],
        pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    )
    batch = pa.RecordBatch.from_pydict(
        {
            "key": pa.array([b"k", None, b""]),
            "value": pa.array([b"v", None, b""], pa.binary()),
            "headers": headers,
            "timestamp": pa.array([5000, None, 7000], pa.timestamp("us", "UTC")),
        }
    )
    with Producer(settings(shared_broker.bootstrap, compression_type=codec)) as producer:
        assert producer.partitions(topic) == [0]
        producer.send(TopicPartition(topic, 0), batch)
        assert producer.flush() == {TopicPartition(topic, 0): 2}

    first, second, third = read_topic(shared_broker.bootstrap, topic)

    assert (first.key(), first.value()) == (b"k", b"v")
    assert first.headers() == [("a", b"1"), ("a", None)]
    assert (second.key(), second.value(), second.headers()) == (None, None, None)
    assert (third.key(), third.value()) == (b"", b"")
    assert first.timestamp()[1] == 5
    assert third.timestamp()[1] == 7
    assert second.timestamp()[1] > 1_600_000_000_000


def test_batches_of_many_partitions_are_sent_in_a_single_request(
    shared_broker: BrokerProcess,
) -> None:
    create_topic(shared_broker.bootstrap, "producer-many", 40)
    counts = []
    with Producer(settings(shared_broker.bootstrap)) as producer:
        take = producer._receive

        def counting(request: Any, timeout_ms: int) -> None:
            counts.append(len(request.batches))
            take(request, timeout_ms)

        producer._receive = counting  # type: ignore[method-assign]
        for partition in range(40):
            producer.send(TopicPartition("producer-many", partition), rows(0, 5))
        last = producer.flush()

    assert counts == [40]
    assert set(last.values()) == {4}


def test_records_stay_in_order_while_several_requests_are_in_flight(
    shared_broker: BrokerProcess,
) -> None:
    where = TopicPartition("producer-order", 0)
    most = 0
    with Producer(settings(shared_broker.bootstrap, batch_size=2000)) as producer:
        producer.partitions(where.topic)
        send = producer._send_to

        def counting(*arguments: Any) -> None:
            nonlocal most
            send(*arguments)
            most = max(most, len(producer._in_flight))

        producer._send_to = counting  # type: ignore[method-assign]
        for first in range(0, 20_000, 1000):
            producer.send(where, rows(first, first + 1000))
        producer.flush()

    (result,) = numbers_by_partition(read_topic(shared_broker.bootstrap, where.topic)).values()
    assert result == list(range(20_000))
    assert most == 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_no_record_is_lost_or_duplicated_over_breaking_connections(
    tmp_path: Path, seed: int, size: Callable[[int, int], int]
) -> None:
    count = size(20_000, 400_000)
    with cutting_proxy(seed, most=25_000) as proxy:
        advertised = f"advertised.listeners=PLAINTEXT://127.0.0.1:{proxy.port}"
        with broker_process(tmp_path, advertised) as broker:
            proxy.target = broker.address
            bootstrap = f"127.0.0.1:{proxy.port}"
            create_topic(bootstrap, "cut", 3)
            proxy.cutting = True
            options = {"batch_size": 1500, "retry_backoff_ms": 1, "retry_backoff_max_ms": 5}
            with Producer(settings(bootstrap, **options)) as producer:
                for first in range(0, count, 500):
                    producer.send(TopicPartition("cut", first // 500 % 3), rows(first, first + 500))
                producer.flush()
            proxy.cutting = False
            result = numbers_by_partition(read_topic(bootstrap, "cut"))

    assert proxy.cuts > 10
    assert sorted(result) == [0, 1, 2]
    assert all(some == sorted(some) for some in result.values())
    assert sorted(number for some in result.values() for number in some) == list(range(count))


@pytest.mark.slow
def test_no_record_is_lost_or_duplicated_when_the_broker_is_killed_and_restarted(
    tmp_path: Path, size: Callable[[int, int], int]
) -> None:
    kills, port = size(2, 12), unused_port()
    where = [TopicPartition("killed", partition) for partition in range(2)]
    expected, there = threading.Semaphore(0), threading.Event()

    def keep_killing() -> None:
        for number in range(kills + 1):
            with broker_process(tmp_path, port=port) as broker:
                if number == 0:
                    create_topic(broker.bootstrap, "killed", 2)
                    there.set()
                expected.acquire(timeout=60)
                if number < kills:
                    broker.process.kill()
                    broker.process.wait()
                else:
                    result.update(numbers_by_partition(read_topic(broker.bootstrap, "killed")))

    result: dict[int, list[int]] = {}
    killer = threading.Thread(target=keep_killing)
    killer.start()
    assert there.wait(60)
    sent = 0
    options = {"batch_size": 4000, "buffer_memory": 40_000}
    with Producer(settings(f"127.0.0.1:{port}", **options)) as producer:
        for _ in range(kills):
            for _ in range(8):
                for tp in where:
                    producer.send(tp, rows(sent, sent + 1000))
                    sent += 1000
            expected.release()  # while batches are on their way
        producer.flush()
    expected.release()
    killer.join(120)

    assert all(some == sorted(some) for some in result.values())
    assert sorted(number for some in result.values() for number in some) == list(range(sent))


def test_a_batch_above_max_message_bytes_is_split_until_accepted(
    shared_broker: BrokerProcess,
) -> None:
    create_topic(shared_broker.bootstrap, "producer-small", 1, {"max.message.bytes": "2000"})
    where = TopicPartition("producer-small", 0)
    with Producer(settings(shared_broker.bootstrap, batch_size=100_000)) as producer:
        producer.send(where, rows(0, 300, 90))
        producer.send(where, rows(300, 2000, 90))
        last = producer.flush()

    (result,) = numbers_by_partition(read_topic(shared_broker.bootstrap, where.topic)).values()
    assert last == {where: 1999}
    assert result == list(range(2000))


def test_a_record_above_max_message_bytes_fails_with_its_partition(
    shared_broker: BrokerProcess,
) -> None:
    create_topic(shared_broker.bootstrap, "producer-tiny", 1, {"max.message.bytes": "2000"})
    with Producer(settings(shared_broker.bootstrap)) as producer:
        producer.send(TopicPartition("producer-tiny", 0), rows(0, 1, 5000))
        with pytest.raises(SourceError, match=r"RecordTooLarge: producer-tiny-0 rejected a record"):
            producer.flush()


def test_a_record_larger_than_max_request_size_is_refused_before_the_request(
    shared_broker: BrokerProcess,
) -> None:
    with Producer(settings(shared_broker.bootstrap, max_request_size=10_000)) as producer:
        producer.send(TopicPartition("producer-large", 0), rows(0, 1, 9_900))
        with pytest.raises(SourceError) as caught:
            producer.send(TopicPartition("producer-large", 0), rows(0, 1, 10_000))

    assert caught.value.condition == "KAFKA_RECORD_TOO_LARGE"
    assert "has 10082 bytes when serialized, more than kafka.max.request.size" in str(caught.value)


def test_a_write_without_a_broker_fails_within_its_timeout() -> None:
    nowhere = f"127.0.0.1:{unused_port()}"
    options = {"max_block_ms": 200, "delivery_timeout_ms": 300, "request_timeout_ms": 100}
    with (
        Producer(settings(nowhere, **options, default_api_timeout_ms=300)) as producer,
        pytest.raises(SourceError, match=r"\[KAFKA_UNAVAILABLE\]"),
    ):
        producer.partitions("t")


@pytest.mark.slow
def test_a_write_to_a_killed_broker_fails_with_the_last_reason(
    own_broker: BrokerProcess,
) -> None:
    options = {"delivery_timeout_ms": 700, "request_timeout_ms": 300}
    where = TopicPartition("gone", 0)
    bootstrap = own_broker.bootstrap
    with Producer(settings(bootstrap, **options, default_api_timeout_ms=500)) as producer:
        producer.partitions("gone")
        producer.send(where, rows(0, 5))
        producer.flush()
        own_broker.process.kill()
        own_broker.process.wait()
        producer.send(where, rows(5, 10))
        with pytest.raises(SourceError) as caught:
            producer.flush()

    assert caught.value.condition in ("KAFKA_WRITE_TIMED_OUT", "KAFKA_UNAVAILABLE")
    assert "refused" in str(caught.value) or "ended" in str(caught.value)


def test_records_with_other_columns_are_written_in_order(shared_broker: BrokerProcess) -> None:
    where = TopicPartition("producer-mixed", 0)
    keyed = pa.RecordBatch.from_pydict({"key": [b"k"], "value": [b"1"]})
    with Producer(settings(shared_broker.bootstrap)) as producer:
        producer.partitions(where.topic)
        for batch in (rows(0, 1), keyed, rows(2, 3)):
            producer.send(where, batch)
        producer.flush()

    messages = read_topic(shared_broker.bootstrap, where.topic)
    assert [(message.key(), message.value()) for message in messages] == [
        (None, b"0"),
        (b"k", b"1"),
        (None, b"2"),
    ]


def test_closing_a_producer_twice_is_no_error(shared_broker: BrokerProcess) -> None:
    producer = Producer(settings(shared_broker.bootstrap))
    producer.partitions("producer-closed")
    with contextlib.closing(producer):
        producer.close()


def test_the_leader_is_looked_up_again_after_not_leader_or_follower(
    shared_broker: BrokerProcess,
) -> None:
    where = TopicPartition("producer-moved", 0)
    with Producer(settings(shared_broker.bootstrap, retry_backoff_ms=1)) as producer:
        producer.partitions(where.topic)
        producer.send(where, rows(0, 3))
        producer._encode(where, producer._collected[where])
        batch = producer._queues[where].send()
        metadata = producer._metadata._metadata
        before = metadata.leader_of(where, 60_000)

        row = PartitionProduceResponse(0, ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
        producer._answered(batch, row)

        assert before is not None
        assert metadata.leader_of(where, 60_000) is None
        assert producer.flush() == {where: 2}


class Clock:
    """A clock that only the test, and the producer's sleep, move."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


@contextlib.contextmanager
def producer_at(
    produce: Handler, clock: Clock, metadata: Callable[[Scripted], MetadataResponse] | None = None
) -> Iterator[Producer]:
    """A producer whose delivery timeout is 120 s, and which sends each row at once."""
    handlers: dict[type[Any], Handler] = {
        InitProducerIdRequest: lambda _: InitProducerIdResponse(producer_id=7),
        ProduceRequest: produce,
    }
    with scripted(handlers) as broker:
        if metadata is not None:
            broker.handlers[MetadataRequest] = lambda _: metadata(broker)
        options = settings(broker.bootstrap, batch_size=1)
        with Producer(options, sleep=clock.sleep, now=clock) as producer:
            yield producer


def produced(request: ProduceRequest, code: ErrorCode = ErrorCode.NONE) -> ProduceResponse:
    """The answer of a leader for all batches of a request, of one topic, as if each was first."""
    [topic] = request.topic_data
    rows_ = [PartitionProduceResponse(data.index, code, 0) for data in topic.partition_data]
    return ProduceResponse(responses=[TopicProduceResponse(topic.name, bytes(16), rows_)])


def wait_for_answer(producer: Producer, request: int = 0) -> None:
    """Return when an answer, or the end of the connection, waits in the socket of a request."""
    assert producer._in_flight[request].connection.is_ready(10.0)


def test_an_answer_that_came_while_the_caller_was_away_counts_after_the_delivery_timeout() -> None:
    clock, where = Clock(), TopicPartition("t", 0)
    with producer_at(produced, clock) as producer:
        producer.send(where, rows(0, 1))
        wait_for_answer(producer)
        clock.now_s = 500.0

        producer.send(where, rows(1, 2))

        assert producer.flush() == {where: 0}


def test_a_batch_that_waits_to_be_sent_does_not_expire_while_the_caller_is_away() -> None:
    clock, where, gate = Clock(), TopicPartition("t", 0), threading.Event()
    requests = []

    def produce(request: ProduceRequest) -> ProduceResponse:
        requests.append(request)
        assert gate.wait(10)
        return produced(request)

    with producer_at(produce, clock) as producer:
        producer.send(where, rows(0, 1))
        producer.send(where, rows(1, 2))  # waits: the first batch of a partition is sent alone
        gate.set()
        wait_for_answer(producer)
        clock.now_s = 500.0

        assert producer.flush() == {where: 0}
        assert len(requests) == 2


def test_a_batch_of_a_connection_lost_while_the_caller_was_away_is_sent_again() -> None:
    clock, where = Clock(), TopicPartition("t", 0)
    requests = []

    def produce(request: ProduceRequest) -> object:
        requests.append(request)
        return CLOSE if len(requests) == 1 else produced(request)

    with producer_at(produce, clock) as producer:
        producer.send(where, rows(0, 1))
        wait_for_answer(producer)
        clock.now_s = 500.0

        assert producer.flush() == {where: 0}
        assert len(requests) == 2


def test_a_batch_without_an_answer_expires_while_the_caller_is_away() -> None:
    clock, where = Clock(), TopicPartition("t", 0)
    with producer_at(lambda _: None, clock) as producer:
        producer.send(where, rows(0, 1))
        clock.now_s = 121.0

        with pytest.raises(SourceError, match=r"\[KAFKA_WRITE_TIMED_OUT\] 1 records for t-0"):
            producer.send(where, rows(1, 2))


def test_an_answer_counts_while_an_earlier_request_to_another_leader_has_none() -> None:
    silent, quick = TopicPartition("t", 0), TopicPartition("t", 1)
    clock, codes = Clock(), iter([ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NONE])

    def produce(request: ProduceRequest) -> ProduceResponse | None:
        [data] = request.topic_data[0].partition_data
        return None if data.index == silent.partition else produced(request, next(codes))

    def two_leaders(broker: Scripted) -> MetadataResponse:
        hosts = enumerate((broker.endpoint.host, "localhost"))  # two names, two connections
        partitions = [MetadataResponsePartition(0, number, number, 0) for number in range(2)]
        return MetadataResponse(
            brokers=[MetadataResponseBroker(n, host, broker.endpoint.port) for n, host in hosts],
            topics=[MetadataResponseTopic(0, "t", bytes(16), partitions=partitions)],
        )

    with producer_at(produce, clock, two_leaders) as producer:
        producer.send(quick, rows(0, 1))
        wait_for_answer(producer)
        clock.now_s = 60.0
        producer.send(silent, rows(0, 1))  # takes the error of the other one
        clock.now_s = 61.0
        producer.send(silent, rows(1, 2))  # sends the other one again
        wait_for_answer(producer, 1)
        clock.now_s = 125.0  # 1 s of it was a pause in which `quick` waited

        producer.send(silent, rows(2, 3))

        assert producer._queues.last_offsets() == {quick: 0}
