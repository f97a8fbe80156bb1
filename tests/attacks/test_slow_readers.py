"""Readers that take their answers slowly do not hold a stop of the broker."""

import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.benchmarks import protocol
from tests.benchmarks.connection import connect
from tests.e2e.clients import end_offset, new_topic
from trio_kafka.testing.processes import broker_process

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

MIB = 1 << 20
LONGEST_STOP_S = 15.0  # the broker gives slow readers two seconds; the machine may be busy


def test_slow_readers_do_not_hold_a_shutdown(
    tmp_path: Path, size: Callable[[int, int], int]
) -> None:
    with broker_process(tmp_path) as broker, ExitStack() as readers:
        topic = new_topic(broker)
        batch = protocol.record_batch([bytes(MIB - 200)])
        with connect(broker.address) as producer:
            for _ in range(24):
                answer = producer.call(protocol.produce_request(topic, batch, acks=1))
                assert protocol.produce_error(topic, answer) == 0
        assert end_offset(broker, topic, 0) == 24
        for _ in range(size(10, 50)):
            reader = readers.enter_context(socket.create_connection(broker.address))
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.sendall(protocol.fetch_request(topic, 0, 24 * MIB))
            reader.recv(100)

        began = time.monotonic()
        assert broker.stop() == 0

        assert time.monotonic() - began < LONGEST_STOP_S
        assert "stop step cancelled" not in broker.log.read_text()
