"""A broker ends between the decision on a transaction and its markers; the other kind of broker
ends the transaction: Apache Kafka those of this one, and the other way round.

The decision is written into the directory of the broker that has ended, as no kill meets the moment
between the two for certain.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trio
from attrs import evolve

from tests.apis.transaction_offsets import fetch
from tests.apis.transaction_talk import (
    GROUP,
    NEW_END,
    NEW_PRODUCE,
    OLD_ADD,
    OLD_PRODUCE,
    TRANSACTION,
    TransactionTalk,
    add,
    add_offsets,
    batch_of,
    commit_offsets,
    end,
    write,
)
from tests.benchmarks.brokers import apache_kafka_command
from tests.e2e.test_transactions import values
from tests.installed import APACHE_KAFKA, need_or_skip
from tests.lanes import offset_below
from trio_kafka.coordinators.transactions.records import (
    TRANSACTION_RECORDS,
    stored_transaction,
    transaction_record,
)
from trio_kafka.coordinators.transactions.states import TransactionEvent
from trio_kafka.coordinators.transactions.transaction import Transaction, prepared
from trio_kafka.errors import ErrorCode
from trio_kafka.log.files.names import CLEAN
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k65_describe_transactions import DescribeTransactionsRequest
from trio_kafka.records.batch import Record, encode_batch, read_records
from trio_kafka.records.header import BatchHeader, iterate_headers
from trio_kafka.testing.processes import Address, BrokerProcess, broker_process
from trio_kafka.testing.scripted_client import connected
from trio_kafka.world.real import RealWorld

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

FEW = (
    *("offsets.topic.num.partitions=2", "transaction.state.log.num.partitions=2"),
    *("offsets.topic.replication.factor=1", "transaction.state.log.replication.factor=1"),
)
LEVEL = 2  # of transaction.version
# Transactional ids: how each ends, and transaction.version that its producer speaks.
ENDS = {
    "old-commit": (TransactionEvent.COMMIT, 0),
    "old-abort": (TransactionEvent.ABORT, 0),
    "new-commit": (TransactionEvent.COMMIT, 2),
    "new-abort": (TransactionEvent.ABORT, 2),
}
TOPICS = {name: f"of-{name}" for name in ENDS}


@pytest.fixture(autouse=True)
def jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the test without Java. A small JVM starts sooner."""
    monkeypatch.setenv("KAFKA_HEAP_OPTS", "-Xms128m -Xmx256m")
    monkeypatch.setenv("APACHE_JVM_OPTS", "-XX:+UseSerialGC -XX:TieredStopAtLevel=1")
    need_or_skip(*APACHE_KAFKA)


async def begin(address: Address) -> None:
    """Begin a transaction of each id, with records in two partitions, and with offsets."""
    async with connected(RealWorld(), Endpoint(*address)) as client:
        talk = TransactionTalk(client.ask)
        for name, (_, version) in ENDS.items():
            topic, is_new = TOPICS[name], version == LEVEL
            await talk.create(topic, "offsets")
            await talk.ready(TRANSACTION, name)
            await talk.ready(GROUP, topic)
            producer = await talk.initialize(name)
            if not is_new:
                await talk.ask(add(name, producer, {topic: [0, 1]}), OLD_ADD)
                await talk.ask(add_offsets(name, producer, topic), 3)
            produced = write(name, topic, batch_of(producer), batch_of(producer))
            answer = await talk.ask(produced, NEW_PRODUCE if is_new else OLD_PRODUCE)
            rows = answer.responses[0].partition_responses
            assert [row.error_code for row in rows] == [0, 0]
            offsets = commit_offsets(name, producer, "offsets", group=topic)
            answer = await talk.ask(offsets, 5 if is_new else 4)
            assert answer.topics[0].partitions[0].error_code == 0


def stored(segment: Path) -> Iterator[tuple[BatchHeader, Transaction]]:
    """Yield the states in a segment of `__transaction_state`, in order."""
    data = segment.read_bytes()
    for position, header in iterate_headers(memoryview(data)):
        for record in read_records(data, position, header):
            assert record.key is not None
            decoded = TRANSACTION_RECORDS.decode(record.key, record.value)
            transaction = stored_transaction(decoded)
            assert transaction is not None
            yield header, transaction


def prepare_all(directory: Path) -> None:
    """Write the decision on each transaction behind what a killed broker has written."""
    names = set(ENDS)
    for segment in sorted(directory.glob("__transaction_state-*/*.log")):
        states = list(stored(segment))
        newest = {transaction.transactional_id: transaction for _, transaction in states}
        for name, transaction in newest.items():
            last, _ = states[-1]
            event, version = ENDS[name]
            decided = prepared(
                transaction, event, version=version, now_ms=transaction.updated_ms + 1
            )
            key, value = TRANSACTION_RECORDS.encode(transaction_record(decided, LEVEL))
            offset = last.base_offset + last.last_offset_delta + 1
            records = [Record(key=key, value=value, timestamp=decided.updated_ms)]
            with segment.open("ab") as file:
                file.write(encode_batch(records, offset, last.leader_epoch))
            states.append((evolve(last, base_offset=offset, last_offset_delta=0), decided))
            names.remove(name)
    assert not names


async def stable_offset(talk: TransactionTalk, group: str) -> int:
    """Return the offset that a group has committed, once none is pending.

    Apache Kafka completes a transaction a moment before its group coordinator knows.
    """
    with trio.fail_after(30):
        while True:
            answer = await talk.ask(fetch(group, stable=True), 9)
            partition = answer.groups[0].topics[0].partitions[0]
            if not partition.error_code:
                return int(partition.committed_offset)
            assert partition.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT
            await trio.sleep(0.05)


async def check(address: Address) -> dict[str, int]:
    """Wait until all transactions have ended, and check them. Return the offsets of the groups."""
    async with connected(RealWorld(), Endpoint(*address)) as client:
        talk, offsets = TransactionTalk(client.ask), dict[str, int]()
        for name, (event, version) in ENDS.items():
            commits = event is TransactionEvent.COMMIT
            state = "CompleteCommit" if commits else "CompleteAbort"
            await talk.settle(name, state)
            (row,) = (await talk.ask(DescribeTransactionsRequest([name]), 0)).transaction_states
            assert row.producer_epoch == (1 if version == LEVEL else 0)
            await talk.ready(GROUP, TOPICS[name])
            offsets[name] = await stable_offset(talk, TOPICS[name])
            producer = await talk.initialize(name)  # goes on
            await talk.create(TOPICS[name])
            request = write(name, TOPICS[name], batch_of(producer))
            assert not (
                (await talk.ask(request, NEW_PRODUCE))
                .responses[0]
                .partition_responses[0]
                .error_code
            )
            assert not (await talk.ask(end(name, producer), NEW_END)).error_code
            await talk.settle(name)
        return offsets


def check_records(broker: BrokerProcess) -> None:
    for name, (event, _) in ENDS.items():
        count = 3 if event is TransactionEvent.COMMIT else 1
        assert values(broker, TOPICS[name], "read_committed") == [b"value"] * count
        assert len(values(broker, TOPICS[name], "read_uncommitted")) == 3


def end_process(broker: BrokerProcess, *, in_order: bool) -> None:
    """Kill a broker, or stop it in order."""
    if in_order:
        broker.stop()
    else:
        broker.process.kill()
        broker.process.wait()


def forget_order(directory: Path) -> None:
    """Let a directory whose broker stopped in order look like one after a kill."""
    (directory / CLEAN).unlink()


def test_transactions_that_one_broker_has_decided_are_ended_by_the_other(
    tmp_path: Path, size: Callable[[int, int], int]
) -> None:
    offset = offset_below(2)  # the short form begins with one of them, the long one with each
    for number, first in enumerate(["apache-kafka", "trio-kafka"]):
        if number == offset or size(0, 1):
            hand_over(tmp_path / first, first)


def hand_over(home: Path, first: str) -> None:
    """Begin transactions in one broker, end its process, and let the other one end them.

    Apache Kafka drops the markers of partitions that have no leader. After a kill it has none for
    a moment: the registration of the killed broker is fenced while the transactions are loaded.
    Its own directories have the same race. So our broker stops in order, which fences it, and the
    file that says so is removed.
    """
    home.mkdir()
    theirs = home / "theirs" / "data" / "log"
    if first == "trio-kafka":
        data = home / "data"
        before = broker_process(home / "ours", *FEW, f"log.dirs={data}")
        after = broker_process(home / "theirs", *FEW, command=apache_kafka_command)
    else:
        data = theirs
        before = broker_process(home / "theirs", *FEW, command=apache_kafka_command)
        after = broker_process(home / "ours", *FEW, f"log.dirs={data}")
    (home / "ours").mkdir()
    with before as broker:
        trio.run(begin, broker.address)
        end_process(broker, in_order=first == "trio-kafka")
    if first == "trio-kafka":
        forget_order(data)
    prepare_all(data)
    if first == "trio-kafka":
        theirs.parent.mkdir(parents=True)
        data.rename(theirs)
    with after as broker:
        offsets = trio.run(check, broker.address)
        check_records(broker)
    assert offsets == {name: 7 if "commit" in name else -1 for name in ENDS}
