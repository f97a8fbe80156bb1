"""Fault rules with real clients: librdkafka and Apache Kafka's Java client.

What a client does about a fault is its own affair; the log afterwards is the broker's.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from attrs import frozen
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.clients.build import class_path
from tests.installed import skipped_if_missing
from tests.lanes import sampled
from trio_kafka_builtin.fault_commands.client import ask

pytestmark = pytest.mark.slow
MOVED = "NOT_LEADER_OR_FOLLOWER"
TIMEOUT_S = 30


@frozen
class Controlled:
    """A broker for tests, and its fault rules over HTTP."""

    bootstrap: str
    controls: str

    def fault(self, **rule: Any) -> str:
        return str(ask(self.controls, "POST", body=rule)["name"])

    def hits(self, name: str) -> int:
        return int(ask(self.controls, "GET", name)["hits"])

    def client(self, **more: Any) -> dict[str, Any]:
        callbacks = {name: more.pop(name) for name in list(more) if name.endswith("_cb")}
        named = {name.replace("_", "."): value for name, value in more.items()} | callbacks
        return {"bootstrap.servers": self.bootstrap, "log_level": 0, **named}

    def topic(self, partitions: int = 1) -> str:
        name, admin = f"t-{uuid4().hex[:12]}", AdminClient(self.client())
        admin.create_topics([NewTopic(name, partitions, 1)])[name].result(TIMEOUT_S)
        return name

    def values(self, topic: str, partition: int = 0) -> list[bytes]:
        """All values of a partition, read with a client that no rule is about."""
        consumer = Consumer(self.client(group_id="none", client_id="reader"))
        try:
            at = TopicPartition(topic, partition, 0)
            _, end = consumer.get_watermark_offsets(at, timeout=TIMEOUT_S)
            consumer.assign([at])
            result: list[bytes] = []
            while len(result) < end:
                message = consumer.poll(TIMEOUT_S)
                assert message is not None
                assert message.error() is None
                result.append(message.value())
            return result
        finally:
            consumer.close()


@pytest.fixture(scope="module")
def running() -> Iterator[Controlled]:
    command = [sys.executable, "-m", "trio_kafka", "start", "--testing", "--with-parent"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        result = json.loads(process.stdout.readline())
        yield Controlled(result["bootstrap"], result["testing"][0])
        process.terminate()


@pytest.fixture
def broker(running: Controlled) -> Iterator[Controlled]:
    yield running
    ask(running.controls, "DELETE")


def produce(
    broker: Controlled, topic: str, *values: bytes, partition: int = 0, **more: Any
) -> None:
    """Write with an idempotent producer; AssertionError if a record is refused."""
    config = {"enable_idempotence": True, "client_id": "app", "linger_ms": 0, **more}
    producer, refused = Producer(broker.client(**config)), list[object]()
    for value in values:
        producer.produce(
            topic, value, partition=partition, on_delivery=lambda e, _: e and refused.append(e)
        )
    assert producer.flush(TIMEOUT_S) == 0
    assert refused == []


@pytest.mark.parametrize(
    "rule",
    # One that is refused, one that is written and not answered, one without an end.
    sampled(
        [
            {"error": MOVED},
            {"error": "REQUEST_TIMED_OUT"},
            {"disconnect": "before"},
            {"disconnect": "after"},
            {"drop": True},
            {"error": "NOT_ENOUGH_REPLICAS", "delay_s": 0.2},
        ],
        lambda rule: rule in ({"error": MOVED}, {"disconnect": "after"}, {"drop": True}),
    ),
    ids=lambda rule: "-".join(map(str, next(iter(rule.items())))),
)
def test_librdkafka_writes_each_record_once_despite_faults_of_produce_requests(
    broker: Controlled, rule: dict[str, Any]
) -> None:
    topic = broker.topic(2)
    name = broker.fault(api="Produce", topic=topic, partition=0, times=2, **rule)

    produce(broker, topic, b"a", b"b", socket_timeout_ms=1000)
    produce(broker, topic, b"c", partition=1)

    assert broker.hits(name) == 2
    assert broker.values(topic, 0) == [b"a", b"b"]
    assert broker.values(topic, 1) == [b"c"]


def test_librdkafka_reports_the_throttle_time_of_a_fault_rule(broker: Controlled) -> None:
    topic, throttle_times = broker.topic(), list[float]()
    broker.fault(api="Produce", topic=topic, throttle_s=0.3, times=1)

    produce(
        broker, topic, b"a", throttle_cb=lambda event: throttle_times.append(event.throttle_time)
    )

    assert throttle_times == [0.3]


def test_librdkafka_reads_all_records_after_errors_and_damage(broker: Controlled) -> None:
    topic = broker.topic()
    produce(broker, topic, b"a", b"b", b"c")
    rules = [
        broker.fault(api="Fetch", client_id="app", topic=topic, times=1, **verdict)
        for verdict in (
            {"error": MOVED},
            {"disconnect": "after"},
            {"corrupt": "records"},
            {"corrupt": "response"},
        )
    ]
    consumer = Consumer(
        broker.client(group_id="g", client_id="app", check_crcs=True, fetch_error_backoff_ms=10)
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    result: list[bytes] = []
    errors: list[str] = []
    end = time.monotonic() + TIMEOUT_S
    while len(result) < 3 and time.monotonic() < end:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            result.append(message.value())
        elif message is not None:
            errors.append(message.error().name())
    consumer.close()

    assert result == [b"a", b"b", b"c"]
    assert [broker.hits(name) for name in rules] == [1, 1, 1, 1]
    assert "_BAD_MSG" in errors, "of the damaged records"


def test_consumer_gets_no_assignment_until_its_held_join_is_released(broker: Controlled) -> None:
    topic = broker.topic()
    name = broker.fault(api="JoinGroup", group="held", hold=True)
    consumer = Consumer(broker.client(group_id="held", client_id="app"))
    consumer.subscribe([topic])
    while not broker.hits(name):
        consumer.poll(0.05)
    assert consumer.assignment() == []

    ask(broker.controls, "POST", name, "release")
    end = time.monotonic() + TIMEOUT_S
    while not consumer.assignment() and time.monotonic() < end:
        consumer.poll(0.05)

    assert [partition.topic for partition in consumer.assignment()] == [topic]
    consumer.close()


# --- the Java client


def java(broker: Controlled, tool: str, *arguments: str, stdin: bytes = b"") -> bytes:
    with skipped_if_missing():
        jars = class_path("tools")
    command = ["java", "-cp", jars, f"org.apache.kafka.tools.{tool}"]
    at = ["--bootstrap-server", broker.bootstrap]
    done = subprocess.run(
        [*command, *at, *arguments], input=stdin, capture_output=True, timeout=90, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def test_java_client_writes_and_reads_each_record_once_despite_request_faults(
    broker: Controlled,
) -> None:
    topic = broker.topic()
    about: dict[str, Any] = {"topic": topic, "times": 1}
    verdicts: list[dict[str, Any]] = [
        {"error": MOVED},
        {"error": "REQUEST_TIMED_OUT"},
        {"disconnect": "after"},
        {"drop": True},
        {"delay_s": 0.1},
    ]
    writes = [broker.fault(api="Produce", **about, **verdict) for verdict in verdicts]
    reads = [
        broker.fault(api="Fetch", client_id="console*", **about, **verdict)
        for verdict in ({"error": MOVED}, {"error": "KAFKA_STORAGE_ERROR"}, {"disconnect": "after"})
    ]

    # One in flight: a broker accepts any first sequence of a producer unknown to it, as Kafka does,
    # so a second batch would be stored before the first, which has met the error, is sent again.
    one_in_flight = "max.in.flight.requests.per.connection=1"
    retries = ("retries=20", "retry.backoff.ms=20")
    properties = ("request.timeout.ms=2000", "linger.ms=0", one_in_flight, *retries)
    options = [word for property_ in properties for word in ("--command-property", property_)]
    java(broker, "ConsoleProducer", "--topic", topic, *options, stdin=b"a\nb\nc\n")
    assert [broker.hits(name) for name in writes] == [1] * len(verdicts)
    assert broker.values(topic) == [b"a", b"b", b"c"]

    read = java(
        broker,
        "consumer.ConsoleConsumer",
        *("--topic", topic, "--from-beginning", "--max-messages", "3", "--timeout-ms", "30000"),
        *("--command-property", "client.id=console-1"),
    )

    assert read.splitlines() == [b"a", b"b", b"c"]
    assert [broker.hits(name) for name in reads] == [1, 1, 1]
