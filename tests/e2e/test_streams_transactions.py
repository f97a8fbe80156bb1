"""Kafka Streams counts words with `exactly_once_v2`, while broker and application are restarted.

Every count of a word is written once, and in order, so the counts of a word are 1, 2, 3 and so on.
"""

import os
import random
import signal
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from typing import Final
from uuid import uuid4

import pytest
from attrs import define, field
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.clients.build import APACHE_KAFKA, built, class_path, run
from tests.e2e.clients import new_topic, settings
from tests.e2e.test_kill import serving
from tests.installed import need_or_skip
from trio_kafka.testing.ports import unused_port
from trio_kafka.testing.processes import BrokerProcess

Size = Callable[[int, int], int]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

JAVA: Final = ("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
SETTINGS: Final = (
    "group.initial.rebalance.delay.ms=0",
    "group.min.session.timeout.ms=1000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms=500",
)
WORDS: Final = tuple(f"word{number}" for number in range(7))
PARTITIONS: Final = 2
LINES: Final = 100  # between two restarts
PATIENCE_S: Final = 120


@pytest.fixture(scope="module")
def command() -> list[str]:
    """Return the command of the application, without its arguments."""
    need_or_skip("java", "javac", "mvn", "flock")
    jars = class_path("streams")

    def build(home: Path) -> None:
        run(["javac", "-cp", jars, "-d", "classes", home / "WordCount.java"], home)

    home = built("word_count", build, APACHE_KAFKA / "pom.xml", within=Path(__file__).parent)
    logging = f"-Dlog4j2.configurationFile={APACHE_KAFKA / 'log4j2.yaml'}"
    path = f"{home / 'classes'}{os.pathsep}{jars}"
    return [*JAVA, logging, "-Dlog.level=WARN", "-cp", path, "WordCount"]


@define
class Application:
    """Application that counts words, process after process."""

    command: list[str]
    log: Path
    process: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> None:
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                self.command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )

    def end(self, number: int = signal.SIGKILL) -> None:
        self.process.send_signal(number)
        self.process.wait(60)


@define
class Counting:
    """Counts that a read_committed reader sees."""

    bootstrap: dict[str, object]
    topic: str

    def read(self, is_enough: Callable[[int, int], bool]) -> dict[str, list[int]]:
        """Read from the beginning. Return the counts by word, in the order of the output.

        is_enough: is told how many counts were read, and how often a partition had no more.
        """
        ends = monotonic() + PATIENCE_S
        own = {"isolation.level": "read_committed", "enable.partition.eof": True}
        consumer = Consumer({**self.bootstrap, **own})
        consumer.assign([TopicPartition(self.topic, number, 0) for number in range(PARTITIONS)])
        counts: dict[str, list[int]] = defaultdict(list)
        read = pauses = 0
        while not is_enough(read, pauses):
            assert monotonic() < ends, f"{read} counts were read"
            for message in consumer.consume(1000, 0.2):
                if message.error():
                    pauses += 1
                else:
                    counts[message.key().decode()].append(int(message.value()))
                    read += 1
        consumer.close()
        return counts


def lines(number: int) -> Iterator[str]:
    words = random.Random(number)
    return (" ".join(words.choices(WORDS, k=3)) for _ in range(LINES))


def test_words_are_counted_once_while_broker_and_application_are_restarted(
    command: list[str], tmp_path: Path, size: Size
) -> None:
    restarts, port, expected = size(2, 20), unused_port(), Counter[str]()
    with ExitStack() as stack:
        life = stack.enter_context(ExitStack())
        broker = life.enter_context(serving(tmp_path, port, *SETTINGS))
        source, target = new_topic(broker, PARTITIONS), new_topic(broker, PARTITIONS)
        bootstrap = settings(broker, group_id=f"g-{uuid4().hex}")
        arguments = [broker.bootstrap, "counter", source, target, str(tmp_path / "state")]
        application = Application([*command, *arguments], tmp_path / "application.log")
        counting = Counting(bootstrap, target)
        application.start()
        stack.callback(application.end)
        for number in range(restarts + 1):
            for line in write(broker, source, number):
                expected.update(line.split())
            if number == restarts:
                break
            # Restart in the middle of the work.
            counting.read(lambda read, _: read > expected.total() - 2 * LINES)
            is_hard = number % 4 < 2
            if number % 2:
                application.end(signal.SIGKILL if is_hard else signal.SIGTERM)
                application.start()
            else:
                if is_hard:
                    broker.process.kill()
                else:
                    broker.stop()
                life.close()
                broker = life.enter_context(serving(tmp_path, port, *SETTINGS))
        counting.read(lambda read, _: read >= expected.total())
        application.end(signal.SIGTERM)
        counts = counting.read(lambda _, pauses: pauses >= PARTITIONS)

    assert counts == {word: [*range(1, count + 1)] for word, count in expected.items()}


def write(broker: BrokerProcess, topic: str, number: int) -> list[str]:
    """Write some lines, and return them."""
    producer = Producer(settings(broker, enable_idempotence=True))
    written = list(lines(number))
    for place, line in enumerate(written):
        producer.produce(topic, line, partition=place % PARTITIONS)
    assert producer.flush(30) == 0
    return written
