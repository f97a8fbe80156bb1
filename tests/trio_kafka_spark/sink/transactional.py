"""Tasks, runs and readers of epochs, without Spark; and drivers that die at a request."""

from collections.abc import Iterable, Sequence
from typing import Final

import attrs
import pyarrow as pa
from attrs import frozen

from trio_kafka.model import TopicPartition
from trio_kafka.records.columnar import decode
from trio_kafka_spark.client.cluster import EARLIEST, LATEST, Cluster
from trio_kafka_spark.client.coordinator import Coordinator, Transaction
from trio_kafka_spark.client.fetch import fetch
from trio_kafka_spark.client.producer import Producer
from trio_kafka_spark.client.settings import ClientSettings
from trio_kafka_spark.sink.commits import abort_epoch, commit_epoch
from trio_kafka_spark.sink.epochs import Run
from trio_kafka_spark.sink.options import TransactionOptions
from trio_kafka_spark.sink.tasks import Task, beginner

TOPIC: Final = "orders"
PARTITIONS: Final = 2
OPTIONS: Final = TransactionOptions(timeout_ms=60_000)


def client(bootstrap: str, **options: int) -> ClientSettings:
    """Settings; options: names with underscores for dots."""
    named = {f"kafka.{name.replace('_', '.')}": str(value) for name, value in options.items()}
    return ClientSettings.from_options(
        {
            "kafka.bootstrap.servers": bootstrap,
            "kafka.retry.backoff.ms": "2",
            "kafkaConsumer.pollTimeoutMs": "20000",  # a read that waits for what stays open
            **named,
        },
        for_writing=True,
    )


@frozen
class Driver:
    """One run of a query: its tasks write, it commits or aborts."""

    settings: ClientSettings
    run: Run
    options: TransactionOptions = OPTIONS
    partitions: int = PARTITIONS

    def task(self, partition: int, values: Iterable[str], attempt: int = 0) -> Transaction:
        """Write values as one task does, to all partitions, and leave the transaction open."""
        task = Task(partition=partition, attempt=attempt, number=100 + partition)
        values = list(values)
        with Producer(self.settings, begin=beginner(self.options, self.run, task)) as producer:
            for number in range(self.partitions):
                part = values[number :: self.partitions]
                if part:
                    encoded = [value.encode() for value in part]
                    rows = pa.RecordBatch.from_pydict({"value": pa.array(encoded, pa.binary())})
                    producer.send(TopicPartition(TOPIC, number), rows)
            producer.flush()
            assert producer.transaction is not None
            return producer.transaction

    def tasks(self, values: Sequence[str], count: int = 2) -> list[Transaction]:
        return [self.task(number, values[number::count]) for number in range(count)]

    def commit(self, number: int, prepared: Iterable[Transaction]) -> None:
        commit_epoch(self.settings, self.options, self.run, number=number, prepared=prepared)

    def abort(self, number: int) -> None:
        abort_epoch(self.settings, self.options, self.run, number=number)

    def epoch(self, number: int, values: Sequence[str]) -> None:
        """Write and commit an epoch."""
        self.commit(number, self.tasks(values))

    def open_ids(self) -> list[str]:
        """Return what is open of any run of the query."""
        with Cluster(self.settings) as cluster:
            prefix = self.options.ids_of_query(self.run.query)
            return sorted(Coordinator(cluster).open_transactions(prefix))


def committed_values(settings: ClientSettings, topic: str = TOPIC) -> list[str]:
    """Return what a read_committed reader sees up to the last stable offsets, sorted."""
    return _values(settings, topic, stable=True)


def settled_values(settings: ClientSettings, topic: str = TOPIC) -> list[str]:
    """Return what a read_committed reader sees, sorted; waits until nothing is open any more."""
    return _values(settings, topic, stable=False)


def _values(settings: ClientSettings, topic: str, *, stable: bool) -> list[str]:
    uncommitted = attrs.evolve(settings, read_committed=stable)
    settings = attrs.evolve(settings, read_committed=True)
    values: list[str] = []
    with Cluster(settings) as cluster:
        partitions = [TopicPartition(topic, number) for number in cluster.topics([topic])[topic]]
        firsts = cluster.offsets(dict.fromkeys(partitions, EARLIEST))
        with Cluster(uncommitted) as ending:
            ends = ending.offsets(dict.fromkeys(partitions, LATEST))
        for where in partitions:
            for part in fetch(
                settings, where, start=firsts[where], stop=ends[where], cluster=cluster
            ):
                for batch in decode(
                    part.buffer, at=where, columns=("value",), aborted=part.aborted
                ):
                    values += [value.decode() for value in batch.column("value").to_pylist()]
    return sorted(values)
