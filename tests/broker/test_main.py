"""A broker as a process of its own: what it ends with, and what it leaves."""

import os
import resource
import signal

import pytest

from tests.broker.kit import config_of
from trio_kafka.broker.exit_status import ENDED_AT_ONCE, NOT_STARTED, STOPPED
from trio_kafka.broker.main import serve

pytestmark = pytest.mark.slow
CLEAN = ".kafka_cleanshutdown"


@pytest.fixture
def data(tmp_path):
    return tmp_path / "data"


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_broker_serves_until_sigterm_and_leaves_no_descriptor_open(data) -> None:
    addresses: list[str] = []

    def ready(broker) -> None:
        addresses.append(broker.bootstrap)
        os.kill(os.getpid(), signal.SIGTERM)

    statuses, open_ones = [], []
    for _ in range(2):
        statuses.append(serve(config_of(log_dirs=str(data)), format_if_empty=True, ready=ready))
        open_ones.append(descriptors())

    assert statuses == [STOPPED, STOPPED]
    assert len(addresses) == 2
    assert (data / CLEAN).is_file()
    assert open_ones[0] == open_ones[1]


def test_second_signal_ends_the_broker_at_once_and_the_next_start_recovers(data) -> None:
    def ready(broker) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)

    status = serve(config_of(log_dirs=str(data)), format_if_empty=True, ready=ready)

    assert status == ENDED_AT_ONCE
    assert not (data / CLEAN).exists()
    assert (
        serve(
            config_of(log_dirs=str(data)),
            format_if_empty=False,
            ready=lambda broker: os.kill(os.getpid(), signal.SIGTERM),
        )
        == STOPPED
    )


def test_refused_start_ends_with_its_status_and_one_error_line(data, caplog) -> None:
    assert serve(config_of(log_dirs=str(data)), format_if_empty=False) == NOT_STARTED

    (line,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert line.getMessage() == "the broker did not start"
    assert "is not formatted: run `trio-kafka format`" in line.fields["reason"]


def test_half_of_the_descriptor_limit_is_the_budget_for_old_segment_files(data) -> None:
    figures: list[object] = []

    def ready(broker) -> None:
        (node,) = [node for _, node in broker.node.walk() if node.name == "open-files"]
        figures.append(node.figures()["budget"])
        os.kill(os.getpid(), signal.SIGTERM)

    serve(config_of(log_dirs=str(data)), format_if_empty=True, ready=ready)

    assert figures == [max(128, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)]
