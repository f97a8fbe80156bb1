"""kill -9 of brokers and of clients that read, process and write: each input is once in the output.

A client commits its offsets in the transaction that has its output. Whatever is killed between any
two steps, a read_committed reader finds the output of each input once.
"""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from threading import Event

import pytest
from confluent_kafka import Producer

from tests.e2e.clients import end_offset, new_topic, produce, settings
from tests.e2e.read_process_write import transform
from tests.e2e.test_kill import serving
from tests.e2e.test_transactions import values
from trio_kafka.testing.ports import unused_port
from trio_kafka.testing.processes import BrokerProcess, child_process

Size = Callable[[int, int], int]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]

PARTITIONS = 2
INPUTS = 200  # for each kill
WORKS_S = 120  # longest time until a client that was started or lost its broker has gone on
LONGEST_PAUSE_S = 0.3  # between a sign of work and the kill


@contextmanager
def worker(directory: Path, bootstrap: str, topics: tuple[str, str]) -> Iterator[None]:
    """A client that works while the block runs; it is killed when the block ends."""
    command = [sys.executable, "-m", "tests.e2e.read_process_write", bootstrap, *topics, "worker"]
    with child_process(command, directory / "worker.log") as process:
        yield
        process.kill()


def write_inputs(broker: BrokerProcess, topic: str, numbers: range) -> None:
    producer = Producer(settings(broker, enable_idempotence=True))
    for partition in range(PARTITIONS):
        mine = [b"%d" % number for number in numbers if number % PARTITIONS == partition]
        produce(producer, topic, mine, partition)


def end(broker: BrokerProcess, topic: str) -> int:
    return sum(end_offset(broker, topic, partition) for partition in range(PARTITIONS))


def feed(broker: BrokerProcess, topics: tuple[str, str], numbers: range, pause_s: float) -> None:
    """Write inputs; wait until the output has grown, and a moment more."""
    source, target = topics
    before, ends = end(broker, target), time.monotonic() + WORKS_S
    write_inputs(broker, source, numbers)
    while end(broker, target) <= before:
        assert time.monotonic() < ends, "the client does not go on"
    Event().wait(pause_s)


def test_each_input_is_once_in_the_output_after_kills_of_clients_and_brokers(
    tmp_path: Path, size: Size
) -> None:
    kills, random, port = size(1, 100), Random(), unused_port()
    written, topics = 2 * kills * INPUTS, ("", "")
    inputs = iter(range(first, first + INPUTS) for first in range(0, written, INPUTS))
    with ExitStack() as workers:
        for number in range(kills):
            with serving(tmp_path, port) as broker:
                if not number:
                    topics = new_topic(broker, PARTITIONS), new_topic(broker, PARTITIONS)
                    workers.enter_context(worker(tmp_path, broker.bootstrap, topics))
                feed(broker, topics, next(inputs), random.random() * LONGEST_PAUSE_S)
                workers.close()
                workers.enter_context(worker(tmp_path, broker.bootstrap, topics))
                feed(broker, topics, next(inputs), random.random() * LONGEST_PAUSE_S)
                broker.process.kill()
        with serving(tmp_path, port) as broker:
            output: list[bytes] = []
            ends = time.monotonic() + WORKS_S
            while len(output) < written and time.monotonic() < ends:
                output = values(broker, topics[1], "read_committed")

    counts = Counter(output)
    expected = {transform(b"%d" % number) for number in range(written)}
    assert not [value for value, count in counts.items() if count > 1], "written twice"
    assert not expected - counts.keys(), "lost"
    assert counts.keys() == expected
