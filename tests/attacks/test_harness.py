"""The harness notices what it is for: a broker that stalls, grows or ends."""

import signal
from pathlib import Path

import pytest

from tests.attacks.harness import MIB, attacked_broker, with_descriptors

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def test_the_harness_passes_a_broker_that_is_not_attacked(tmp_path: Path) -> None:
    with attacked_broker(tmp_path, command=with_descriptors(512)) as attacked:
        while len(attacked.bystander.stalls_s) < 20:
            assert attacked.bystander.error is None

    assert attacked.bystander.longest_stall_s < 0.1


def test_the_harness_fails_a_broker_above_its_memory_limit(tmp_path: Path) -> None:
    with (
        pytest.raises(AssertionError, match="MiB"),
        attacked_broker(tmp_path, most_resident_bytes=MIB) as attacked,
    ):
        while not attacked.bystander.stalls_s:
            assert attacked.bystander.error is None


def test_the_harness_fails_a_broker_that_is_killed(tmp_path: Path) -> None:
    with (
        pytest.raises((AssertionError, FileNotFoundError)),
        attacked_broker(tmp_path) as attacked,
    ):
        attacked.broker.process.send_signal(signal.SIGKILL)
        attacked.broker.process.wait(10)
