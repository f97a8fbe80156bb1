"""State of transactional ids: what many cost in memory, what a coordinator loads at its start."""

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.benchmarks import dialogues
from tests.benchmarks.bounds import at_most
from tests.benchmarks.dialogues import Dialogue
from tests.benchmarks.figures import Figure, Figures
from tests.benchmarks.rows.registry import NotApplicableError, Target, row
from tests.benchmarks.server import Server
from tests.benchmarks.transactional import INIT, TransactionalProducer
from tests.benchmarks.tree import figures_of, longest_turn_ms, rows_of
from trio_kafka.coordinators.transactions.records import TRANSACTION_RECORDS, transaction_record
from trio_kafka.coordinators.transactions.states import TransactionState
from trio_kafka.coordinators.transactions.transaction import Transaction
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from trio_kafka.records.batch import BatchBody, ProducerFields, close_batch
from trio_kafka.testing.processes import Address

COORDINATOR: Final = "transaction-coordinator"  # in the tree
ONE_PARTITION: Final = "transaction.state.log.num.partitions=1"
STATES: Final = (
    TransactionState.ONGOING,
    TransactionState.PREPARE_COMMIT,
    TransactionState.COMPLETE_COMMIT,
)
_IN_A_BATCH: Final = 100
_CONNECTIONS: Final = 20
_LOADED_S: Final = 300


@row("transactional-ids-100000", at_most("each", must=4, aim=2), count=100_000)
def memory(target: Target, count: int) -> Figures:
    """Resident memory of transactional ids that have a producer id, and no transaction yet."""
    with target.fresh(ONE_PARTITION) as fresh:
        server, address = fresh.broker.server, fresh.broker.address
        create_coordinator(address)
        before = server.rss()
        with fresh.meter() as meter:
            names = iter(range(count))
            dialogues.run(address, (begin(names) for _ in range(_CONNECTIONS)))
        grown = server.rss() - before
    return {
        "each": Figure(grown / count / 1e3, "kB"),
        "server CPU": Figure(meter.server_cpu_s / count * 1e6, "µs each"),
    }


def create_coordinator(address: Address) -> None:
    """Have `__transaction_state` created, and wait until it takes requests."""
    producer = TransactionalProducer(topic="", partitions=0, values=(), version=2)
    dialogues.run(address, [producer.begin()])


def begin(names: Iterator[int]) -> Dialogue:
    """Get a producer id for each name."""
    for name in names:
        begun = yield InitProducerIdRequest(f"bench-transactions-{name:08}", 60_000), INIT
        if begun.error_code:
            raise ValueError(f"InitProducerId: error {begun.error_code}")


@row(
    "transaction-state-load-1000000",
    at_most("server CPU", must=15, aim=10),
    at_most("longest turn", must=20, aim=5),
    records=1_000_000,
    ids=100_000,
)
def load(target: Target, records: int, ids: int) -> Figures:
    """Load of a coordinator at its start, by its own counters. The log is written here.

    The CPU time holds the start and the recovery of the log, too: 3 µs. The time of the load is
    that of a wall clock, and several times as long while the machine does other work.
    """
    if target.broker.start is None:
        raise NotApplicableError("it runs already")
    with TemporaryDirectory(dir=target.directory) as text:
        directory = Path(text)
        with target.broker.start(directory, ONE_PARTITION) as broker:
            if not rows_of(broker.address, COORDINATOR):
                raise NotApplicableError("it does not tell what it has loaded")
            create_coordinator(broker.address)
        write_states(directory, records, ids)
        with target.broker.start(directory, ONE_PARTITION) as broker:
            ends = time.monotonic() + _LOADED_S
            while time.monotonic() < ends:
                figures = figures_of(rows_of(broker.address, COORDINATOR)[0])
                loaded = int(figures["records_loaded"] or 0)
                if loaded >= records:
                    took_s = float(figures["loaded_in_s"] or 0)
                    cpu_s = Server(broker.process.pid).cpu_s()
                    return {
                        "server CPU": Figure(cpu_s / loaded * 1e6, "µs each"),
                        "load": Figure(took_s / loaded * 1e6, "µs each"),
                        "longest turn": Figure(longest_turn_ms(broker.address) or 0, "ms"),
                    }
                time.sleep(0.2)
    raise TimeoutError(f"{records} records not loaded in {_LOADED_S} s")


def write_states(directory: Path, records: int, ids: int) -> None:
    """Append records of transactions in turn to the partition's log, which is not open."""
    (log,) = directory.rglob("__transaction_state-0/*.log")
    for mark in directory.rglob(".kafka_cleanshutdown"):
        mark.unlink()  # the broker looks at the end of the log then
    offset = 1  # after the record of `create_coordinator`
    with log.open("ab") as file:
        for first in range(0, records, _IN_A_BATCH):
            body = BatchBody()
            now_ms = int(time.time() * 1000)
            for number in range(first, min(first + _IN_A_BATCH, records)):
                state = STATES[number // ids % len(STATES)]
                record = transaction_record(transaction(number % ids, state, now_ms), 2)
                body.add_pair(*TRANSACTION_RECORDS.encode(record), now_ms)
            batch, _ = close_batch(body, offset, 0, producer=ProducerFields(base_sequence=0))
            file.write(batch)
            offset += body.count


def transaction(number: int, state: TransactionState, now_ms: int) -> Transaction:
    is_open = state is not TransactionState.COMPLETE_COMMIT
    at = frozenset({TopicPartition("orders", 0), TopicPartition("prices", 1)})
    return Transaction(
        transactional_id=f"bench-transactions-{number:08}",
        producer_id=1000 + number,
        producer_epoch=7,
        timeout_ms=60_000,
        state=state,
        partitions=at if is_open else frozenset(),
        started_ms=now_ms,
        updated_ms=now_ms,
        client_version=2,
    )
