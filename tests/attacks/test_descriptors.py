"""Many partitions and few file descriptors: the same clients before and after a restart."""

import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.attacks.harness import attacked_broker, with_descriptors
from tests.benchmarks import protocol
from tests.benchmarks.connection import connect
from trio_kafka.broker.descriptors import FIXED
from trio_kafka.cli.ask import asking
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.testing.processes import Address, BrokerProcess, ProcessError, broker_process

Size = Callable[[int, int], int]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def create(broker: BrokerProcess, partitions: int) -> None:
    host, port = broker.address
    with asking(Endpoint(host, port), 900.0, unknown="no such API") as ask:
        wanted = CreateTopicsRequest([CreatableTopic("t", partitions, 1)], timeout_ms=60_000)
        assert ask(wanted).topics[0].error_code == 0


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


def test_as_many_connections_are_answered_after_a_restart_as_before(
    tmp_path: Path, size: Size
) -> None:
    partitions, limit = size(150, 1800), size(256, 2000)
    with attacked_broker(tmp_path, command=with_descriptors(limit)) as attacked:
        create(attacked.broker, partitions)
        before = answered(attacked.broker.address, limit)
    assert before >= (limit - partitions) // 2

    with attacked_broker(tmp_path, command=with_descriptors(limit)) as attacked:
        after = answered(attacked.broker.address, limit)

    assert after >= before - 4  # descriptors that a job holds at the moment


def test_a_start_that_cannot_get_its_descriptors_ends_with_their_number(
    tmp_path: Path, size: Size
) -> None:
    partitions = size(150, 1800)
    with broker_process(tmp_path) as broker:
        create(broker, partitions)
    limit = partitions + FIXED - 1

    with (
        pytest.raises(ProcessError, match="ended with status 1") as caught,
        broker_process(tmp_path, command=with_descriptors(limit)),
    ):
        pass

    wanted = rf"\(ulimit -n\) is {limit}, {partitions} partitions need at least {limit + 1}"
    assert re.search(wanted, str(caught.value))
