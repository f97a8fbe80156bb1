"""Last stable offset and aborted transactions: this broker reads a log that Kafka has written."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import trio
from attrs import frozen
from confluent_kafka import Producer

from tests.benchmarks.brokers import apache_kafka_command
from tests.e2e.clients import new_topic, produce, settings
from tests.installed import APACHE_KAFKA, need_or_skip
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from trio_kafka.protocol.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from trio_kafka.testing.processes import Address, BrokerProcess, broker_process
from trio_kafka.testing.scripted_client import connected
from trio_kafka.world.real import RealWorld

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

WAIT_S = 30
RECORDS = 4  # of a transaction
SEGMENT = "1500"  # bytes: two batches
STEPS = (
    *(("one", "commit"), ("two", "abort"), ("", ""), ("three", "open"), ("one", "abort")),
    *(("two", "commit"), ("one", "abort"), ("", ""), ("two", "abort")),
)
REBUILT = ("*.index", "*.timeindex", "*.txnindex", "*.snapshot")


@frozen
class Written:
    """A partition that Apache Kafka has written, and what it says of it."""

    topic: str
    directory: Path
    answers: list[Any]


def write(broker: BrokerProcess, topic: str) -> list[Producer]:
    """Transactions of several producers, one of which stays open with its producer."""
    producers: dict[str, Producer] = {}
    for name, outcome in STEPS:
        producer = producers.get(name)
        if producer is None:
            own = {"transactional.id": name} if name else {}
            producer = producers[name] = Producer({**settings(broker), **own})
            if name:
                producer.init_transactions(WAIT_S)
        if name:
            producer.begin_transaction()
        produce(producer, topic, [b"%s %d" % (outcome.encode(), n) * 20 for n in range(RECORDS)])
        if outcome == "commit":
            producer.commit_transaction(WAIT_S)
        elif outcome == "abort":
            producer.abort_transaction(WAIT_S)
    return list(producers.values())


async def wait_for_markers(address: Address, topic: str) -> None:
    """Wait for the last marker: Kafka writes it after it has answered."""
    end = sum(RECORDS + (outcome in {"commit", "abort"}) for _, outcome in STEPS)
    partition = ListOffsetsPartition(0, timestamp=-1)
    request = ListOffsetsRequest(-1, 0, [ListOffsetsTopic(topic, [partition])])
    async with connected(RealWorld(), Endpoint(*address)) as client:
        with trio.fail_after(WAIT_S):
            while (await client.ask(request, 7)).topics[0].partitions[0].offset < end:
                pass


async def ask(address: Address, topic: str) -> list[Any]:
    """Return the records read at each offset, with either isolation, and the ends of the log."""
    answers: list[Any] = []
    async with connected(RealWorld(), Endpoint(*address)) as client:
        for level, version in ((0, 12), (1, 4), (1, 12)):
            for offset in range(60):
                part = FetchPartition(0, fetch_offset=offset, partition_max_bytes=1 << 20)
                request = FetchRequest(
                    max_wait_ms=0,
                    isolation_level=level,
                    topics=[FetchTopic(topic, partitions=[part])],
                )
                answer = (await client.ask(request, version)).responses[0].partitions[0]
                answer.records = bytes(answer.records or b"")
                if answer.aborted_transactions:
                    # Kafka lists those that begin behind the last stable offset in the same segment
                    # too. Clients do not need them.
                    answer.aborted_transactions = [
                        transaction
                        for transaction in answer.aborted_transactions
                        if transaction.first_offset < answer.last_stable_offset
                    ]
                answers.append((level, version, offset, answer))
            for timestamp in (-1, -2):
                partition = ListOffsetsPartition(0, timestamp=timestamp)
                request_topic = ListOffsetsTopic(topic, [partition])
                answer = await client.ask(ListOffsetsRequest(-1, level, [request_topic]), 7)
                answers.append((level, timestamp, answer.topics[0].partitions[0].offset))
    return answers


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    need_or_skip(*APACHE_KAFKA)
    directory = tmp_path_factory.mktemp("kafka")
    with broker_process(directory, command=apache_kafka_command) as kafka:
        topic = new_topic(kafka, internal_segment_bytes=SEGMENT)
        producers = write(kafka, topic)
        trio.run(wait_for_markers, kafka.address, topic)
        answers = trio.run(ask, kafka.address, topic)
        kafka.stop()
    del producers  # not before: one that goes aborts its transaction
    return Written(topic, directory / "data" / "log" / f"{topic}-0", answers)


@pytest.mark.parametrize("intact", [True, False])
def test_log_with_transactions_is_read_as_by_apache_kafka(
    written: Written, tmp_path: Path, intact: bool
) -> None:
    with broker_process(tmp_path) as broker:
        topic = new_topic(broker, internal_segment_bytes=SEGMENT)
    log = broker.data / f"{topic}-0"
    identity = (log / "partition.metadata").read_bytes()
    shutil.rmtree(log)
    shutil.copytree(written.directory, log)
    (log / "partition.metadata").write_bytes(identity)
    if not intact:  # a crash, after which indexes and producers come from the batches
        (broker.data / ".kafka_cleanshutdown").unlink()
        for pattern in REBUILT:
            for path in log.glob(pattern):
                path.unlink()

    with broker_process(tmp_path) as broker:
        answers = trio.run(ask, broker.address, topic)

    assert len(list(written.directory.glob("*.log"))) >= 4
    assert renamed(answers, topic) == renamed(written.answers, written.topic)
    for index in written.directory.glob("*.txnindex"):
        assert (log / index.name).read_bytes() == index.read_bytes()


def renamed(answers: list[Any], topic: str) -> str:
    return "\n".join(map(repr, answers)).replace(topic, "TOPIC")
