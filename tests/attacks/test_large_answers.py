"""Answers that are much larger than their requests take little memory, read or not."""

import socket
import struct
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from tests.attacks.harness import MIB, Attacked, attacked_broker
from tests.benchmarks.connection import connect
from tests.benchmarks.quotas import ask
from trio_kafka.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from trio_kafka.protocol.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
)
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.protocol.messages.k32_describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from trio_kafka.testing.scripted_client import request_frame

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
MOST: Final = 160 * MIB
GROUP: Final = 32
PARTITIONS: Final = 1000


def commit_offsets(attacked: Attacked, metadata: str) -> None:
    """Commit an offset for each partition of a new topic `big`."""
    with connect(attacked.broker.address, MIB) as client:
        client.socket.settimeout(60)
        ask(client, CreateTopicsRequest([CreatableTopic("big", PARTITIONS, 1)]), 7)
        for first in range(0, PARTITIONS, 100):
            parts = [
                OffsetCommitRequestPartition(number, 5, -1, metadata)
                for number in range(first, first + 100)
            ]
            topics = [OffsetCommitRequestTopic("big", partitions=parts)]
            request = OffsetCommitRequest("g", topics=topics)
            ends = time.monotonic() + 30  # until the group has a coordinator
            while any(row.error_code for row in ask(client, request, 8).topics[0].partitions):
                assert time.monotonic() < ends
                time.sleep(0.1)


def size_of_answer(peer: socket.socket) -> int:
    return int(struct.unpack(">i", peer.recv(4, socket.MSG_WAITALL))[0])


def read(peer: socket.socket, size: int) -> None:
    room = bytearray(MIB)
    while size:
        received = peer.recv_into(room, min(size, len(room)))
        assert received
        size -= received


def test_a_group_named_many_times_in_an_offset_fetch_is_answered_once(tmp_path: Path) -> None:
    one_partition = "offsets.topic.num.partitions=1"
    with attacked_broker(tmp_path, one_partition, most_resident_bytes=MOST) as attacked:
        commit_offsets(attacked, "m" * 4000)
        groups = [OffsetFetchRequestGroup("g", topics=None)] * 1000
        frame = request_frame(OffsetFetchRequest(groups=groups), 9)
        with ExitStack() as stack:
            peers = [
                stack.enter_context(socket.create_connection(attacked.broker.address, 60))
                for _ in range(4)
            ]
            for peer in peers:
                peer.sendall(frame)
            sizes = [size_of_answer(peer) for peer in peers]
            read(peers[0], sizes[0])

    assert all(4_000_000 < size < 5_000_000 for size in sizes)


def test_large_answers_that_no_client_reads_are_not_held_in_memory(
    tmp_path: Path, size: Callable[[int, int], int]
) -> None:
    count = size(3000, 20_000)
    resources = [DescribeConfigsResource(GROUP, f"group-{number}", None) for number in range(count)]
    request = DescribeConfigsRequest(resources, include_synonyms=True, include_documentation=True)
    frame = request_frame(request, 4)
    with attacked_broker(tmp_path, most_resident_bytes=MOST) as attacked, ExitStack() as stack:
        peers = [
            stack.enter_context(socket.create_connection(attacked.broker.address, 120))
            for _ in range(size(2, 8))
        ]
        for peer in peers:
            peer.sendall(frame)
        sizes = [size_of_answer(peer) for peer in peers]
        time.sleep(1)

        read(peers[0], sizes[0])

    assert min(sizes) > count * 2000
