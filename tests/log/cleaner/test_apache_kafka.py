"""Apache Kafka's own cleaner and ours clean the same log: the same batches remain."""

import random
import time
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.benchmarks.brokers import apache_kafka_command
from tests.installed import APACHE_KAFKA, need_or_skip
from tests.log.cleaner.kit import (
    cleaned_batches,
    cleaned_transactions,
    new_directory,
    rules,
    run,
    seen,
    write_segments,
)
from tests.log.cleaner.test_cleaning import PATHS, Written
from trio_kafka.log.cleaner.job import CleaningJob, LastRecord
from trio_kafka.log.files.names import INDEX, LOG, TIME_INDEX, TRANSACTION_INDEX, offset_file
from trio_kafka.log.index.transaction import ENTRY
from trio_kafka.records.batch import Record, iterate_headers
from trio_kafka.records.compression import Codec
from trio_kafka.testing.processes import BrokerProcess, broker_process

TOPIC = "compacted"
SEEDS = (1, 2, 3, 4)  # one for each partition
RETENTION_MS = 1000
WAIT_S = 60.0


def random_operations(chance: random.Random, now_ms: int, count: int) -> list[tuple]:
    """Operations of `Written` with timestamps of today, so that producers stay active."""
    keys = [None, b"", *(b"key-%d" % number for number in range(40)), b"long" * 100]
    values = [None, b"", b"1", b"v" * 300]

    def records() -> list[Record]:
        return [
            Record(
                key=chance.choice(keys),
                value=chance.choice(values),
                timestamp=now_ms - chance.randrange(5000),
                headers=chance.choice([[], [("h", b"x"), ("", None)]]),
            )
            for _ in range(chance.randrange(1, 8))
        ]

    result: list[tuple] = []
    for _ in range(count):
        draw = chance.random()
        if draw < 0.75:
            word = chance.choice(["data", "data", "data", "stamped"])
            producer = chance.randrange(-1, 4 if word == "data" else 2)
            result.append((word, producer, records(), chance.choice(list(Codec))))
        elif draw < 0.95:
            result.append(("end", chance.randrange(2, 4), chance.random() < 0.5, now_ms))
        else:
            result.append(("roll",))
    return result


def extend(log: Written, chance: random.Random, count: int) -> None:
    """Write more to a log, and roll it, so that all but one record can be cleaned."""
    now_ms = int(time.time() * 1000)
    log.perform(random_operations(chance, now_ms, count))
    for producer in tuple(log.open):
        log.finish(producer, commit=True, time=now_ms)
    log.roll()
    log.perform([("data", -1, [Record(key=b"last", value=b"1")], Codec.NONE)])
    log.roll()
    log.perform([("data", -1, [Record(key=b"active", value=b"1")], Codec.NONE)])
    for base, batches in log.segments.items():
        # The leader epoch of a new topic; no checksum covers it.
        log.segments[base] = [batch[:12] + bytes(4) + batch[16:] for batch in batches]


def write_log(partition: Path, log: Written) -> None:
    """Write the segments that a stopped broker does not have. It builds their indexes."""
    for base, batches in log.segments.items():
        file = partition / offset_file(base, LOG)
        content = b"".join(batches)
        if not file.exists() or file.read_bytes() != content:
            file.write_bytes(content)
            for other in (INDEX, TIME_INDEX, TRANSACTION_INDEX):
                file.with_suffix(other).unlink(missing_ok=True)


def wait_until_cleaned(checkpoint: Path, line: str) -> None:
    ends = time.monotonic() + WAIT_S
    while line not in (checkpoint.read_text() if checkpoint.exists() else ""):
        assert time.monotonic() < ends, "the cleaner of Apache Kafka has not finished"
        time.sleep(0.2)


def active_producers(log: Written) -> dict[int, LastRecord]:
    result: dict[int, LastRecord] = {}
    for batch in log.batches:
        producer_id, epoch, _ = batch.producer
        if producer_id >= 0:
            before = result.get(producer_id)
            last = before.last_data_offset if before else None
            result[producer_id] = LastRecord(last if batch.is_control else batch.last_offset, epoch)
    return result


@pytest.mark.long
@pytest.mark.timeout(600)
def test_cleaner_and_apache_kafkas_cleaner_keep_the_same_batches(tmp_path: Path) -> None:
    need_or_skip(*APACHE_KAFKA)
    logs = [Written() for _ in SEEDS]
    chances = [random.Random(seed) for seed in SEEDS]
    disabled = "log.cleaner.enable=false"
    with broker_process(tmp_path, disabled, command=apache_kafka_command) as kafka:
        create_topic(kafka)
        directory = kafka.data / "log"
    partitions = [directory / f"{TOPIC}-{number}" for number in range(len(SEEDS))]
    first_dirty = [0] * len(SEEDS)
    # In the second round horizons of the first have passed.
    for count in (300, 60):
        for log, chance, partition in zip(logs, chances, partitions, strict=True):
            extend(log, chance, count)
            write_log(partition, log)

        with broker_process(tmp_path, "log.cleaner.backoff.ms=100", command=apache_kafka_command):
            checkpoint = directory / "cleaner-offset-checkpoint"
            for number, log in enumerate(logs):
                wait_until_cleaned(checkpoint, f"{TOPIC} {number} {max(log.segments)}")

        for number, (log, partition) in enumerate(zip(logs, partitions, strict=True)):
            active = max(log.segments)
            theirs, entries = cleaned_by_kafka(partition, active)
            for columnar in PATHS:
                batches, transactions = cleaned_by_us(
                    log, theirs, first_dirty[number], columnar=columnar
                )
                assert [seen(batch) for batch in batches] == [seen(their) for their in theirs]
                untouched = {batch for segment in log.segments.values() for batch in segment}
                assert untouched & set(batches) == untouched & set(theirs)
                assert transactions == entries
            log.segments = {0: theirs, active: log.segments[active]}
            log.batches = [seen(batch) for segment in log.segments.values() for batch in segment]
            log.aborted = [
                batch for batch in log.aborted if batch.last_offset in {e[2] for e in entries}
            ]
            first_dirty[number] = active


def create_topic(kafka: BrokerProcess) -> None:
    settings = {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0.01",
        "delete.retention.ms": str(RETENTION_MS),
    }
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    topic = NewTopic(TOPIC, num_partitions=len(SEEDS), replication_factor=1, config=settings)
    admin.create_topics([topic])[TOPIC].result(60)


def cleaned_by_kafka(partition: Path, active: int) -> tuple[list[bytes], list[tuple[int, ...]]]:
    """Return the batches below the active segment, and the aborted transactions."""
    content = b"".join(
        file.read_bytes()
        for file in sorted(partition.glob(f"*{LOG}"))
        if file.name != offset_file(active, LOG)
    )
    entries = [
        entry[1:4]
        for file in sorted(partition.glob(f"*{TRANSACTION_INDEX}"))
        if file.name != offset_file(active, TRANSACTION_INDEX)
        for entry in ENTRY.iter_unpack(file.read_bytes())
    ]
    return [content[at : at + header.size] for at, header in iterate_headers(content)], entries


def cleaned_by_us(
    log: Written, theirs: list[bytes], first_dirty: int, *, columnar: bool
) -> tuple[list[bytes], list[tuple[int, ...]]]:
    """Clean the same log at the time at which Kafka did."""
    horizon = max(segment.horizon or 0 for segment in map(seen, theirs))
    active = max(log.segments)
    directory = new_directory()
    job = CleaningJob(
        rules=rules(horizon - RETENTION_MS, active_producers=active_producers(log)),
        segments=write_segments(
            directory, {base: log.segments[base] for base in log.segments if base < active}
        ),
        first_dirty_offset=first_dirty,
        first_uncleanable_offset=active,
        aborted=tuple(log.aborted),
        columnar=columnar,
    )
    done = run(directory, job)
    transactions = cleaned_transactions(directory, job, done)
    return cleaned_batches(directory, job, done), [
        (transaction.producer_id, transaction.first_offset, transaction.last_offset)
        for transaction in transactions
    ]
