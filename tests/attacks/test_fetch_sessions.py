"""Fetch sessions with as many partitions as a request may name, left behind by their clients."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.attacks.harness import MIB, attacked_broker
from tests.benchmarks.connection import connect
from trio_kafka.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from trio_kafka.testing.scripted_client import request_frame

pytestmark = pytest.mark.slow
_OF_ONE: Final = 100_000  # partitions of a request
_NAMES: Final = 12  # the last version that names topics


def test_fetch_sessions_of_disconnected_clients_do_not_fill_the_memory(
    tmp_path: Path, size: Callable[[int, int], int]
) -> None:
    partitions = [FetchPartition(number, fetch_offset=0) for number in range(_OF_ONE)]
    topics = [FetchTopic("missing", partitions=partitions)]
    fetch = FetchRequest(max_wait_ms=0, session_epoch=0, topics=topics)
    frame = request_frame(fetch, _NAMES)
    with attacked_broker(tmp_path, longest_stall_s=0.5, most_resident_bytes=400 * MIB) as attacked:
        for _ in range(size(1, 10)):
            with connect(attacked.broker.address) as client:
                client.call(frame)

        assert attacked.resident_bytes < 250 * MIB
