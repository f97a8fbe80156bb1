"""Many partitions and few file descriptors: the same clients before and after a restart."""

import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.attacks.harness import attacked_broker, with_descriptors
from tests.benchmarks import protocol
from tests.benchmarks.connection import connect
from trio_kafka.cli.broker_client import SendRequest, open_client
from trio_kafka.errors import ErrorCode
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.protocol.messages.k60_describe_cluster import DescribeClusterRequest
from trio_kafka.protocol.messages.k61_describe_producers import (
    DescribeProducersRequest,
    TopicRequest,
)
from trio_kafka.records.batch import Record, encode_batch
from trio_kafka.testing.processes import Address, BrokerProcess, ProcessError, broker_process
from trio_kafka.world.descriptors import SMALLEST

Size = Callable[[int, int], int]
# What a producer repeats: no room for the file, or a replica that is still made.
RETRIED = frozenset(
    {
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
    }
)
OFFLINE = re.compile("directory offline|storage is lost")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def create(broker: BrokerProcess, partitions: int) -> None:
    host, port = broker.address
    with open_client(Endpoint(host, port), 900.0, unknown="no such API") as ask:
        request = CreateTopicsRequest([CreatableTopic("t", partitions, 1)], timeout_ms=60_000)
        assert ask(request).topics[0].error_code == 0


def topic_id(ask: SendRequest, topic: str) -> bytes:
    id_: bytes = ask(MetadataRequest([MetadataRequestTopic(name=topic)])).topics[0].topic_id
    return id_


def produce(ask: SendRequest, topic: tuple[str, bytes], number: int) -> int:
    """Append one record, retried while the broker asks for it; the error code."""
    code = 0
    for _ in range(100):
        batch = memoryview(bytearray(encode_batch([Record(value=b"v")])))
        partition = PartitionProduceData(index=number, records=batch)
        data = TopicProduceData(name=topic[0], topic_id=topic[1], partition_data=[partition])
        answer = ask(ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[data]))
        code = int(answer.responses[0].partition_responses[0].error_code)
        if code not in RETRIED:
            break
        time.sleep(0.05)
    return code


def answered(address: Address, most: int) -> int:
    """How many of `most` connections at a time get an answer."""
    request, count = protocol.frame(protocol.API_VERSIONS, 0), 0
    with ExitStack() as stack:
        for _ in range(most):
            connection = stack.enter_context(connect(address, 1 << 16))
            connection.socket.settimeout(1.0)
            try:
                connection.call(request)
            except (TimeoutError, ConnectionError):
                break
            count += 1
    return count


def test_a_restart_does_not_reduce_the_number_of_answered_connections(
    tmp_path: Path, size: Size
) -> None:
    partitions, limit = size(300, 1800), size(256, 2000)
    with attacked_broker(tmp_path, command=with_descriptors(limit)) as attacked:
        create(attacked.broker, partitions)
        before = answered(attacked.broker.address, limit)
    assert before >= limit // 2

    with attacked_broker(tmp_path, command=with_descriptors(limit)) as attacked:
        after = answered(attacked.broker.address, limit)
        assert not OFFLINE.search(attacked.log)

    assert after >= before - 4  # descriptors that a job holds at the moment


@contextmanager
def flood(address: Address, limit: int) -> Iterator[list[socket.socket]]:
    """More connections than a broker may have: the later ones wait in the kernel's queue."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(limit + 50)]
        for connection in sockets:
            connection.setblocking(False)
            connection.connect_ex(address)
        yield sockets


def test_a_flood_of_connections_stops_no_background_job_and_no_partition(
    tmp_path: Path, size: Size
) -> None:
    partitions, limit = size(200, 1800), size(256, 2000)
    settings = [
        "log.flush.offset.checkpoint.interval.ms=200",
        "log.retention.check.interval.ms=200",
        "metadata.log.max.snapshot.interval.ms=200",
        "metadata.log.max.record.bytes.between.snapshots=1000",
    ]
    with attacked_broker(
        tmp_path,
        *settings,
        command=with_descriptors(limit),
        stop_timeout_s=300.0,
    ) as attacked:
        host, port = attacked.broker.address
        create(attacked.broker, partitions)
        with (
            open_client(Endpoint(host, port), 900.0, unknown="no such API") as ask,
            flood((host, port), limit),
        ):
            time.sleep(size(1, 65))  # the periodic jobs have their turn; real time is the subject
            t = ("t", topic_id(ask, "t"))
            assert [produce(ask, t, number) for number in range(partitions)] == [0] * partitions
            topics = [CreatableTopic(f"n{number}", 5, 1) for number in range(10)]
            results = ask(CreateTopicsRequest(topics, timeout_ms=30_000)).topics
            assert [topic.error_code for topic in results] == [0] * len(topics)
            n9 = ("n9", topic_id(ask, "n9"))
            assert [produce(ask, n9, number) for number in range(5)] == [0] * 5
            # APIs of which no request came before: their handlers are imported now.
            assert ask(DescribeProducersRequest([TopicRequest("t", [0])])).topics
            assert not ask(DescribeClusterRequest()).error_code
        assert not OFFLINE.search(attacked.log)
        assert "Traceback" not in attacked.log

    with attacked_broker(tmp_path, command=with_descriptors(limit)) as attacked:
        host, port = attacked.broker.address
        with open_client(Endpoint(host, port), 900.0, unknown="no such API") as ask:
            assert produce(ask, t, partitions - 1) == 0
            assert produce(ask, n9, 4) == 0
        assert not OFFLINE.search(attacked.log)


def test_a_start_with_too_few_descriptors_fails_and_prints_the_needed_number(
    tmp_path: Path,
) -> None:
    with (
        pytest.raises(ProcessError, match="ended with status 1") as caught,
        broker_process(tmp_path, command=with_descriptors(SMALLEST - 1)),
    ):
        pass

    message = rf"\(ulimit -n\) is {SMALLEST - 1}, a broker needs at least {SMALLEST}"
    assert re.search(message, str(caught.value))
