"""Writes that are interrupted, or as slow as they are told to be."""

import signal
import subprocess
import sys
import time

import pytest

from tests.cli.kit import Shell


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--report"]], ids=["blocks", "singles"])
def test_interrupt_says_how_many_records_are_stored(shell: Shell, options: list[str]) -> None:
    topic = f"typed{len(options)}"
    shell.kafka.create_topic(topic)
    command = [sys.executable, "-m", "trio_kafka.cli", "produce", topic, *options]

    with subprocess.Popen(
        [*command, "--bootstrap", shell.kafka.bootstrap, "-X", "linger.ms=0"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(b"a\nb\n")
        process.stdin.flush()
        shell.kafka.wait_for_records(topic, 2)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)

    assert process.returncode == 1
    assert errors == b"trio-kafka: interrupted: 2 records are stored\n"


@pytest.mark.slow
def test_rate_bounds_the_records_of_a_second(shell: Shell) -> None:
    shell.kafka.create_topic("slow")
    began = time.monotonic()

    shell.run("produce", "slow", "--rate", "20", stdin=b"x\n" * 11)

    assert time.monotonic() - began >= 0.5
    assert len(shell.kafka.records("slow")) == 11
