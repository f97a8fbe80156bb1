"""Apache Kafka 4.4 answers the same requests for directories and deletions in the same way."""

import os
import time
from pathlib import Path
from typing import Final

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import NOW_MS, batch
from tests.benchmarks.brokers import apache_kafka_command
from tests.installed import APACHE_KAFKA, need_or_skip
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from trio_kafka.protocol.messages.k21_delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from trio_kafka.protocol.messages.k34_alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from trio_kafka.protocol.messages.k35_describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.processes import Address, broker_process
from trio_kafka.testing.scripted_client import ScriptedClient, connected
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
RECORD: Final = Path(__file__).parent / "data" / "kafka-4.4-log-dirs.txt"

LONG = "x" * 230  # too long for the directory of a future replica
Codes = list[tuple[str, int, int]]


async def delete(client: ScriptedClient, *offsets: tuple[str, int, int]) -> Codes:
    """Topic, low watermark, error."""
    topics = [DeleteRecordsTopic(t, [DeleteRecordsPartition(n, at)]) for t, n, at in offsets]
    answer = await client.ask(DeleteRecordsRequest(topics, 5000), 2)
    return sorted(
        (topic.name, row.low_watermark, row.error_code)
        for topic in answer.topics
        for row in topic.partitions
    )


async def alter(client: ScriptedClient, *moves: tuple[str, int, str]) -> Codes:
    """Topic, partition, error."""
    dirs = [AlterReplicaLogDir(path, [AlterReplicaLogDirTopic(t, [n])]) for t, n, path in moves]
    answer = await client.ask(AlterReplicaLogDirsRequest(dirs), 2)
    return sorted(
        (topic.topic_name, row.partition_index, row.error_code)
        for topic in answer.results
        for row in topic.partitions
    )


async def places(client: ScriptedClient, topic: str) -> dict[str, list[tuple[int, int, bool]]]:
    """Size, lag, is future: by directory."""
    request = DescribeLogDirsRequest([DescribableLogDirTopic(topic, [0])])
    answer = await client.ask(request, 5)
    return {
        Path(row.log_dir).name: [
            (partition.partition_size, partition.offset_lag, partition.is_future_key)
            for named in row.topics
            for partition in named.partitions
        ]
        for row in answer.results
    }


async def converse(client: ScriptedClient, now_ms: int, first: str, second: str) -> list[object]:
    """Return the answers of a broker with these two directories."""
    answers: list[object] = []
    policies = {"t": "delete", "both": "compact,delete", "kept": "compact", LONG: "delete"}
    topics = [
        CreatableTopic(name, 1, 1, configs=[CreatableTopicConfig("cleanup.policy", policy)])
        for name, policy in policies.items()
    ]
    answer = await client.ask(CreateTopicsRequest(topics, timeout_ms=30_000), 7)
    assert all(row.error_code == 0 for row in answer.topics)
    await trio.sleep(2)  # Apache Kafka needs a moment until it leads them
    data = [PartitionProduceData(0, batch(b"a", b"b", b"c", timestamp=now_ms))]
    produce = ProduceRequest(
        acks=-1, timeout_ms=5000, topic_data=[TopicProduceData("t", partition_data=data)]
    )
    written = await client.ask(produce, 12)
    assert written.responses[0].partition_responses[0].error_code == 0

    answers.append(await delete(client, ("t", 0, 2), ("both", 0, 0), ("kept", 0, 0)))
    answers.append(await delete(client, ("t", 0, 1), ("missing", 0, 0), ("both", 7, 0)))
    answers.append(await delete(client, ("t", 0, 4)))
    answers.append(await delete(client, ("t", 0, -2)))
    answers.append(await delete(client, ("__consumer_offsets", 0, 0)))
    answers.append(await delete(client, ("t", 0, 3), ("t", 0, -1)))

    before = await places(client, "t")
    answers.append(sorted(before.values()))
    (here,) = (name for name, rows in before.items() if rows)
    there = {Path(first).name: second, Path(second).name: first}[here]
    answers.append(await alter(client, ("t", 0, f"{first}-other"), ("missing", 0, first)))
    answers.append(await alter(client, ("t", 9, first), (LONG, 0, first)))
    answers.append(await alter(client, ("t", 0, there)))
    with trio.fail_after(60):
        while [place[2] for place in (await places(client, "t"))[Path(there).name]] != [False]:
            await trio.sleep(0.1)
    answers.append(sorted((await places(client, "t")).values()))
    answers.append(await alter(client, ("t", 0, there)))
    answers.append(await delete(client, ("t", 0, 3)))
    return answers


def recorded() -> list[str]:
    return RECORD.read_text().splitlines()


async def test_log_dir_and_deletion_requests_get_the_same_errors_as_from_apache_kafka(
    autojump_clock: MockClock,
) -> None:
    settings = {"log.dirs": "/one,/two"}
    async with served_broker(simulated_world(), settings) as served, served.connect() as client:
        answers = await converse(client, NOW_MS, "/one", "/two")

    assert [repr(answer) for answer in answers] == recorded()


async def ask_apache_kafka(address: Address, first: str, second: str) -> list[object]:
    async with connected(RealWorld(SkippingClock()), Endpoint(*address)) as client:
        return await converse(client, int(time.time() * 1000), first, second)


@pytest.mark.long
def test_recorded_answers_equal_those_of_a_running_apache_kafka(tmp_path: Path) -> None:
    """With TRIO_KAFKA_RECORD set, record them."""
    need_or_skip(*APACHE_KAFKA)
    first, second = str(tmp_path / "one"), str(tmp_path / "two")
    with broker_process(
        tmp_path, f"log.dirs={first},{second}", command=apache_kafka_command
    ) as kafka:
        answers = trio.run(ask_apache_kafka, kafka.address, first, second)

    lines = [repr(answer) for answer in answers]
    if os.environ.get("TRIO_KAFKA_RECORD"):
        RECORD.write_text("".join(f"{line}\n" for line in lines))
    assert lines == recorded()
