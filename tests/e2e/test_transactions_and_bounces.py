"""Kafka's system tests of transactions: its copier copies a topic while brokers or copiers bounce.

Apache Kafka's `transactions_test` and `group_mode_transactions_test` around its tool
`TransactionalMessageCopier`, which aborts some transactions on its own, and around ours with our
clients. What was copied is what was written, each record once.
"""

import itertools
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Final

import pytest
from attrs import define, field, frozen
from confluent_kafka import Producer

from tests.clients.build import class_path
from tests.e2e.clients import new_topic, settings
from tests.e2e.test_kill import serving
from tests.e2e.test_transactions import values
from tests.installed import APACHE_KAFKA, need_or_skip
from tests.lanes import sampled
from trio_kafka.testing.ports import unused_port
from trio_kafka.testing.processes import BrokerProcess

Size = Callable[[int, int], int]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

JAVA: Final = ("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
COPIER: Final = "org.apache.kafka.tools.TransactionalMessageCopier"
PATIENCE_S: Final = 180
TRANSACTION: Final = 50  # records
SETTINGS: Final = ("group.initial.rebalance.delay.ms=0",)


@frozen(kw_only=True)
class Combination:
    """One case of the system tests.

    kind: of the bounce, clean or hard. target: brokers or clients. ordered: the input has one
    partition, so that the order is compared too. group_metadata: the offsets are sent with the
    member of the group. old: the copier speaks the older protocol of transactions; only Java's can.
    is_ours: the copier is ours.
    """

    kind: str
    target: str
    ordered: bool
    group_metadata: bool
    old: bool
    is_ours: bool = False

    def __str__(self) -> str:
        flags = ("ordered", "group_metadata", "old", "is_ours")
        return "-".join([self.kind, self.target, *(flag for flag in flags if getattr(self, flag))])


COMBINATIONS: Final = [
    Combination(
        kind=kind,
        target=target,
        ordered=ordered,
        group_metadata=metadata,
        old=old,
        is_ours=is_ours,
    )
    for kind, target, ordered, metadata, (old, is_ours) in itertools.product(
        ("hard", "clean"),
        ("brokers", "clients"),
        (True, False),
        (True, False),
        ((False, False), (True, False), (False, True)),
    )
]
# Of the short form: `test_read_process_write.py` kills clients, `tests/clients` has old ones.
SHORT: Final = ("hard-brokers-ordered-group_metadata",)


@define
class Copier:
    """Copier of one partition, process after process. progress: lines of its output so far."""

    command: list[str]
    log: Path
    process: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> None:
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                self.command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )

    def reports(self) -> list[dict[str, object]]:
        """Return what the copier has reported, in all its lives."""
        lines = self.log.read_text(errors="replace").splitlines()
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    def wait_for_progress(self, ends: float) -> bool:
        """Wait for another report. Return False if the copier has ended."""
        before = len(self.reports())
        while self.process.poll() is None:
            if len(self.reports()) > before:
                return True
            assert monotonic() < ends, self.log.read_text()[-4000:]
            Event().wait(0.05)
        return False

    def bounce(self, number: int) -> None:
        """End the process with a signal, and start another one."""
        self.process.send_signal(number)
        self.process.wait(60)
        self.start()

    def wait(self, ends: float) -> None:
        """Wait until all is copied. A process that a fence or a lost broker has ended is replaced,
        as a user's supervisor does.
        """
        while True:
            try:
                status = self.process.wait(max(1, ends - monotonic()))
            except subprocess.TimeoutExpired:
                raise AssertionError(self.log.read_text()[-4000:]) from None
            if status == 0:
                return
            assert monotonic() < ends
            self.start()


@define
class Run:
    """One combination: a broker that may bounce, and a copier for each partition of the input."""

    combination: Combination
    directory: Path
    count: int
    group_mode: bool = False
    _port: int = field(factory=unused_port)
    _life: ExitStack = field(factory=ExitStack)

    def serve(self) -> BrokerProcess:
        """Start the broker on its port and its data."""
        return self._life.enter_context(serving(self.directory, self._port, *SETTINGS))

    def end_life(self, broker: BrokerProcess, *, kill: bool) -> None:
        if kill:
            broker.process.kill()
            broker.process.wait()
        else:
            broker.stop()
        self._life.close()

    def copier(self, source: str, target: str, partition: int) -> Copier:
        """Return a copier of a partition of the input; in group mode a member of the group."""
        options = {
            "broker-list": f"127.0.0.1:{self._port}",
            "transactional-id": f"copier-{partition}",
            "input-topic": source,
            "input-partition": f"{partition}",
            "output-topic": target,
            "consumer-group": "copiers",
            "max-messages": "-1",
            "transaction-size": f"{TRANSACTION}",
            "transaction-timeout": "30000",
        }
        flags = {
            "enable-random-aborts": True,
            "use-group-metadata": self.combination.group_metadata,
            "group-mode": self.group_mode,
        }
        command = self.command()
        command += itertools.chain(*((f"--{name}", value) for name, value in options.items()))
        command += [f"--{name}" for name, is_set in flags.items() if is_set]
        return Copier(command, self.directory / f"copier-{partition}.log")

    def command(self) -> list[str]:
        """Return the command of a copier, without its options."""
        if self.combination.is_ours:
            return [sys.executable, "-u", "-m", "trio_kafka.clients.verifiable.copier"]
        jars = class_path("tools")
        if self.combination.old:
            jars = os.pathsep.join((class_path("old-client"), jars))
        return [*JAVA, "-cp", jars, COPIER]

    def run(self, bounces: int) -> None:
        """Copy while brokers or copiers bounce, and compare."""
        partitions = 1 if self.combination.ordered else 2
        ends = monotonic() + PATIENCE_S
        broker = self.serve()
        source, target = new_topic(broker, partitions), new_topic(broker, partitions)
        written = self.write(broker, source, partitions)
        copiers = [self.copier(source, target, number) for number in range(partitions)]
        try:
            for copier in copiers:
                copier.start()
            for _ in range(bounces):
                is_copying = [copier.wait_for_progress(ends) for copier in copiers]
                assert any(is_copying), "all was copied before the last bounce"
                is_hard = self.combination.kind == "hard"
                if self.combination.target == "brokers":
                    self.end_life(broker, kill=is_hard)
                    broker = self.serve()
                else:
                    for copier in copiers:
                        copier.bounce(signal.SIGKILL if is_hard else signal.SIGTERM)
            for copier in copiers:
                copier.wait(ends)
            read = values(broker, target, "read_committed", partitions, in_order=True)
        finally:
            for copier in copiers:
                copier.process.kill()
                copier.process.wait()
            self._life.close()

        counts = Counter(read)
        assert {value for value, count in counts.items() if count > 1} == set(), "copied twice"
        assert set(written) - set(counts) == set(), "lost"
        assert set(counts) - set(written) == set()
        if self.combination.ordered:
            assert read == written

    def write(self, broker: BrokerProcess, topic: str, partitions: int) -> list[bytes]:
        producer = Producer(settings(broker, enable_idempotence=True))
        written = [b"%d" % number for number in range(self.count)]
        for number, value in enumerate(written):
            producer.produce(topic, value, partition=number % partitions)
        assert producer.flush(30) == 0
        return written


@pytest.mark.parametrize(
    "combination", sampled(COMBINATIONS, lambda combination: str(combination) in SHORT), ids=str
)
def test_copied_records_are_those_written_each_once_while_brokers_or_copiers_bounce(
    tmp_path: Path, combination: Combination, size: Size
) -> None:
    if not combination.is_ours:
        need_or_skip(*APACHE_KAFKA)
    Run(combination, tmp_path, size(2_000, 10_000)).run(size(1, 5))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["hard", "clean"])
@pytest.mark.parametrize("target", ["brokers", "clients"])
@pytest.mark.parametrize("is_ours", [False, True], ids=["java", "trio-kafka"])
def test_copiers_that_share_a_group_copy_each_record_once(
    tmp_path: Path, kind: str, target: str, *, is_ours: bool
) -> None:
    if not is_ours:
        need_or_skip(*APACHE_KAFKA)
    combination = Combination(
        kind=kind, target=target, ordered=False, group_metadata=True, old=False, is_ours=is_ours
    )
    Run(combination, tmp_path, 10_000, group_mode=True).run(3)
