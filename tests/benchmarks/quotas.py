"""Throttle times beside Apache Kafka's: the same clients, above the same quotas, at both brokers.

    python -m tests.benchmarks.quotas --seconds 15

Each load is one connection that asks at the same pace and with the same sizes at both, or as soon
as it is answered: the windows of rates begin with requests, so a broker that is asked at other
times says other times.
Printed are what got through in a second and what was told to wait, in all and by answer that told
it. With --check it fails where they differ by more than 15 %.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from uuid import uuid4

from attrs import define, frozen

from tests.benchmarks.brokers import COMMANDS, Broker, started, unwind_on_sigterm
from tests.benchmarks.connection import Connection, connect
from tests.benchmarks.protocol import record_batch
from tests.benchmarks.topics import temporary_topic
from trio_kafka.protocol.compiler import decoder
from trio_kafka.protocol.headers import response_header_version
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.protocol.messages.k49_alter_client_quotas import (
    AlterClientQuotasRequest,
    EntryData,
    OpData,
)
from trio_kafka.protocol.schema import message_of
from trio_kafka.protocol.structs.cluster import EntityData
from trio_kafka.quotas.quotas import (
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
)
from trio_kafka.testing.scripted_client import request_frame

TOLERANCE: Final = 0.15
BYTE_RATE: Final = 500_000.0
MUTATION_RATE: Final = 1.0
BATCH: Final = record_batch([bytes(1000)] * 100)
PARTITIONS: Final = 3  # of a topic that is made
BY_NAME: Final = 12  # the last version of Produce and Fetch that names topics


@define
class Waits:
    """Throttle times that one load was told, and what it got."""

    got: float = 0.0
    told_ms: int = 0
    telling: int = 0
    seconds: float = 0.0
    _last_ms: int = 0

    def note(self, wait_ms: int, got: float) -> None:
        """An answer came; what the one before it told has been waited for."""
        self.got += got
        self.told_ms += self._last_ms
        self.telling += self._last_ms > 0
        self._last_ms = wait_ms

    @property
    def figures(self) -> Mapping[str, float]:
        return {
            "got /s": self.got / self.seconds,
            "told ms /s": self.told_ms / self.seconds,
            "ms a wait": self.told_ms / max(self.telling, 1),
        }


def ask(connection: Connection, request: Any, version: int) -> Any:
    response = message_of(type(request)).response
    if response is None:
        raise TypeError(f"{type(request)} has no response")
    answer = connection.call(request_frame(request, version, client_id="measured"))
    position = 4 + response_header_version(message_of(response), version)
    return decoder(response, version)(memoryview(bytes(answer)), position)[0]


def produce(connection: Connection, topic: str) -> tuple[int, float]:
    """One batch of 100 kB."""
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(0, memoryview(BATCH))])
    answer = ask(connection, ProduceRequest(acks=1, timeout_ms=1000, topic_data=[data]), BY_NAME)
    if answer.responses[0].partition_responses[0].error_code:
        raise ValueError(f"not written: {answer}")
    return answer.throttle_time_ms, len(BATCH)


def fetch(connection: Connection, topic: str) -> tuple[int, float]:
    """At most two batches, always from the beginning, without a session."""
    part = FetchPartition(0, fetch_offset=0, partition_max_bytes=2 * len(BATCH))
    request = FetchRequest(
        max_wait_ms=100,
        min_bytes=1,
        max_bytes=1 << 20,
        session_epoch=-1,
        topics=[FetchTopic(topic=topic, partitions=[part])],
    )
    answer = ask(connection, request, BY_NAME)
    got = sum(
        len(part.records or b"") for response in answer.responses for part in response.partitions
    )
    return answer.throttle_time_ms, got


def create(connection: Connection, topic: str) -> tuple[int, float]:
    """One topic of 3 partitions, again if it was refused."""
    del topic
    name = f"made-{uuid4().hex}"
    answer = ask(connection, CreateTopicsRequest([CreatableTopic(name, PARTITIONS, 1)]), 7)
    is_created = not answer.topics[0].error_code
    return answer.throttle_time_ms, PARTITIONS * is_created


@frozen
class Load:
    """once: one request, every `pace_s`. prepared: what is done before, some times."""

    name: str
    key: str
    rate: float
    once: Callable[[Connection, str], tuple[int, float]]
    pace_s: float
    prepared: Callable[[Connection, str], tuple[int, float]] | None = None


LOADS: Final = (
    Load("produce", PRODUCER_BYTE_RATE, BYTE_RATE, produce, 0.05),
    Load("fetch", CONSUMER_BYTE_RATE, BYTE_RATE, fetch, 0.05, produce),
    Load("create topics", CONTROLLER_MUTATION_RATE, MUTATION_RATE, create, 0.5, create),
)


def set_quota(connection: Connection, load: Load, rate: float | None) -> None:
    entity = [EntityData("client-id", "measured")]
    change = EntryData(entity, [OpData(load.key, rate or 0.0, remove=rate is None)])
    answer = ask(connection, AlterClientQuotasRequest([change]), 1)
    if answer.entries[0].error_code:
        raise ValueError(f"{load.key} is not set: {answer}")


def measure(broker: Broker, load: Load, seconds: float) -> Waits:
    """One load at one broker, from the moment in which the quota is set."""
    result = Waits()
    with (
        temporary_topic(broker.bootstrap, 1) as topic,
        connect(broker.address) as admin,
        connect(broker.address) as connection,
    ):
        for _ in range(20 if load.prepared else 0):
            (load.prepared or load.once)(connection, topic)
        load.once(connection, topic)  # what is done for the first time takes longer
        set_quota(admin, load, load.rate)
        began = time.monotonic()
        due = began
        while due - began < seconds:
            time.sleep(max(due - time.monotonic(), 0))
            result.note(*load.once(connection, topic))
            due = max(due + load.pace_s, time.monotonic())
        result.seconds = time.monotonic() - began
        set_quota(admin, load, None)
    return result


def compare(ours: Mapping[str, float], theirs: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """By figure, how much of theirs ours is more or less."""
    for name, value in ours.items():
        yield name, value / theirs[name] - 1 if theirs[name] else 0.0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.quotas",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seconds", type=float, default=15, help="of each load (%(default)s)")
    parser.add_argument("--check", action="store_true", help="fail where brokers differ by 15 %%")
    chosen = parser.parse_args(arguments)
    result: dict[str, dict[str, Mapping[str, float]]] = {}
    with ExitStack() as stack:
        directory = Path(stack.enter_context(TemporaryDirectory()))
        for name in COMMANDS:
            with started(name, directory) as broker:
                result[name] = {}
                for load in LOADS:
                    result[name][load.name] = measure(broker, load, chosen.seconds).figures
                    values = "  ".join(f"{k} {v:,.1f}" for k, v in result[name][load.name].items())
                    print(f"{name:13} {load.name:14} {values}", flush=True)
    apart = 0.0
    for load in LOADS:
        differences = dict(compare(*(result[name][load.name] for name in COMMANDS)))
        print(
            f"{'difference':13} {load.name:14}", *(f"{k} {v:+.1%} " for k, v in differences.items())
        )
        apart = max(apart, *map(abs, differences.values()))
    print(
        f"at most {apart:.1%} apart: {'met' if apart <= TOLERANCE else 'missed'} ({TOLERANCE:.0%})"
    )
    return int(chosen.check and apart > TOLERANCE)


if __name__ == "__main__":
    unwind_on_sigterm()
    sys.exit(main(sys.argv[1:]))
