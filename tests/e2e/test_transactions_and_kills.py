"""kill -9 of a broker while a client writes transactions: each is read whole, or not at all."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from threading import Event, Thread

import pytest
from attrs import define, field
from confluent_kafka import KafkaException, Producer

from tests.e2e.clients import new_topic, settings
from tests.e2e.test_kill import serving
from tests.e2e.test_transactions import values
from trio_kafka.testing.ports import unused_port
from trio_kafka.testing.processes import BrokerProcess

Size = Callable[[int, int], int]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

RECORDS = 4
TIMEOUT_S = 30


@define
class Outcomes:
    """Numbers of transactions by their outcome, as the client was told."""

    committed: set[int] = field(factory=set)
    aborted: set[int] = field(factory=set)
    unknown: set[int] = field(factory=set)


def records(number: int) -> Iterator[tuple[int, bytes]]:
    return ((i % 2, b"%d-%d" % (number, i)) for i in range(RECORDS))


def write(bootstrap: dict[str, object], topic: str, stopped: Event, outcomes: Outcomes) -> None:
    """Write transactions until stopped; every third is aborted. A client that fails is replaced."""
    producer, number = None, 0
    while not stopped.is_set():
        number += 1
        is_ending = False
        try:
            if producer is None:
                producer = Producer({**bootstrap, "transactional.id": topic})
                producer.init_transactions(TIMEOUT_S)
            producer.begin_transaction()
            for partition, value in records(number):
                producer.produce(topic, value, partition=partition)
            producer.flush(TIMEOUT_S)
            if number % 3 == 0:
                producer.abort_transaction(TIMEOUT_S)
                outcomes.aborted.add(number)
            else:
                is_ending = True
                producer.commit_transaction(TIMEOUT_S)
                outcomes.committed.add(number)
        except KafkaException:
            (outcomes.unknown if is_ending else outcomes.aborted).add(number)
            producer = None  # its next life aborts what is open


def check(broker: BrokerProcess, topic: str, outcomes: Outcomes) -> None:
    """Compare what a read_committed reader gets with what the client was told."""
    counts = Counter(values(broker, topic, "read_committed"))
    assert set(counts.values()) <= {1}
    read = Counter(int(value.split(b"-")[0]) for value in counts)
    assert set(read.values()) <= {RECORDS}, "a torn transaction"
    assert not outcomes.committed - set(read), "a lost transaction"
    assert not set(read) & outcomes.aborted, "an aborted transaction"
    assert set(read) <= outcomes.committed | outcomes.unknown


def test_transactions_are_read_as_a_whole_or_not_at_all_after_kills(
    tmp_path: Path, size: Size
) -> None:
    kills, random, port = size(2, 100), Random(35), unused_port()
    outcomes, stopped = Outcomes(), Event()
    with serving(tmp_path, port) as broker:
        topic = new_topic(broker, 2)
        bootstrap = settings(broker)
        writer = Thread(target=write, args=(bootstrap, topic, stopped, outcomes))
        writer.start()
        stopped.wait(1.5)
        broker.process.kill()
    try:
        for _ in range(kills - 1):
            with serving(tmp_path, port) as broker:
                stopped.wait(random.uniform(0.2, 2))
                broker.process.kill()
        with serving(tmp_path, port) as broker:
            before = len(outcomes.committed)
            while len(outcomes.committed) < before + 5:
                assert not stopped.wait(0.05)
                assert writer.is_alive()
            stopped.set()
            writer.join(60)
            check(broker, topic, outcomes)
    finally:
        stopped.set()
        writer.join(120)

    assert len(outcomes.committed) > kills
