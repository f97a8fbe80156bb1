"""kill -9 again and again, with a quorum-state that is missing or old: nothing answered is lost."""

import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import trio
from confluent_kafka import Producer

from tests.attacks.harness import attacked_broker
from tests.e2e.clients import new_topic, produce, read, settings
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k23_offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from trio_kafka.testing.processes import BrokerProcess, broker_process
from trio_kafka.testing.scripted_client import connected
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

VALUE = bytes(200_000)
SHORT = 2  # kills
A_LIFE = 7  # records: together they are longer than a segment
SEGMENT = str(1 << 20)
Damage = Callable[[Path, Path], object]


def nothing(quorum_state: Path, old: Path) -> None:
    """Leave the file as it is."""
    del quorum_state, old


def delete(quorum_state: Path, old: Path) -> None:
    """Delete the file."""
    del old
    quorum_state.unlink()


def go_back(quorum_state: Path, old: Path) -> None:
    """Replace the file by that of the first life."""
    shutil.copy(old, quorum_state)


def write(broker: BrokerProcess, topic: str) -> None:
    producer = Producer(settings(broker, batch_num_messages=1, acks="all"))
    for _ in range(A_LIFE):
        produce(producer, topic, [VALUE])


def ends_of(broker: BrokerProcess, topic: str, epochs: list[int]) -> dict[int, int]:
    """The end offset of each epoch, by OffsetForLeaderEpoch."""

    async def ask() -> dict[int, int]:
        async with connected(RealWorld(SkippingClock()), Endpoint(*broker.address)) as client:
            ends = {}
            for epoch in epochs:
                request_topic = OffsetForLeaderTopic(
                    topic, [OffsetForLeaderPartition(0, -1, epoch)]
                )
                answer = await client.ask(OffsetForLeaderEpochRequest(topics=[request_topic]), 4)
                (part,) = answer.topics[0].partitions
                assert (part.error_code, part.leader_epoch) == (0, epoch)
                ends[epoch] = part.end_offset
            return ends

    return trio.run(ask, clock=SkippingClock())


def check(broker: BrokerProcess, topics: list[str], records: int) -> None:
    """All topics and records are there, and each epoch ends where the batches say."""
    messages = read(broker, topics[0], records)
    ends = {message.leader_epoch(): message.offset() + 1 for message in messages}
    assert [message.offset() for message in messages] == list(range(records))
    assert list(ends) == sorted(ends)
    assert ends_of(broker, topics[0], list(ends)) == ends
    for topic in topics[1:]:
        assert len(read(broker, topic, 1)) == 1


DAMAGES: tuple[Damage, ...] = (delete, go_back, nothing)


def test_records_topics_and_epochs_survive_kills_and_damaged_quorum_state(
    tmp_path: Path, size: Callable[[int, int], int]
) -> None:
    old = tmp_path / "old-quorum-state"
    topics: list[str] = []
    kills = size(SHORT, 12)
    for life in range(kills):
        with broker_process(tmp_path) as broker:
            quorum_state = broker.data / "__cluster_metadata-0" / "quorum-state"
            if not topics:
                shutil.copy(quorum_state, old)
                topics.append(new_topic(broker, segment_bytes=SEGMENT))
            elif kills > SHORT:
                check(broker, topics, A_LIFE * life)
            topics.append(new_topic(broker))
            produce(Producer(settings(broker, acks="all")), topics[-1], [b"v"])
            write(broker, topics[0])
            broker.process.send_signal(signal.SIGKILL)
            broker.process.wait(10)
        with broker_process(tmp_path) as broker:  # recovers, and is killed at once
            broker.process.send_signal(signal.SIGKILL)
            broker.process.wait(10)
        DAMAGES[life % len(DAMAGES)](quorum_state, old)

    # A start loads clients' code: the bound is for the attack, and here there is none any more.
    with attacked_broker(tmp_path, longest_stall_s=0.5) as attacked:
        check(attacked.broker, topics, A_LIFE * kills)
