"""Reads that go on until they are interrupted."""

import os
import signal
import subprocess
import sys

import pytest

from tests.cli.kit import Shell


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "status"), [(["--follow"], 0), (["--group", "follows", "--follow"], 0)]
)
def test_new_records_are_followed_until_an_interrupt(
    shell: Shell, options: list[str], status: int
) -> None:
    shell.kafka.create_topic("news")
    shell.kafka.produce("news", b"first")
    command = [sys.executable, "-m", "trio_kafka.cli", "consume", "news", *options]

    with subprocess.Popen(
        [*command, "--bootstrap", shell.kafka.bootstrap], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"first\n"
        shell.kafka.produce("news", b"second")
        assert process.stdout.readline() == b"second\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == status
    shell.kafka.delete_topic("news")


@pytest.mark.slow
def test_reader_that_leaves_ends_the_command_as_sigpipe_would(shell: Shell) -> None:
    shell.kafka.create_topic("long")
    shell.kafka.produce("long", *[b"x" * 1000] * 500)
    command = [sys.executable, "-m", "trio_kafka.cli", "consume", "long", "--follow"]
    reading, writing = os.pipe()

    with subprocess.Popen(
        [*command, "--bootstrap", shell.kafka.bootstrap], stdout=writing, stderr=subprocess.PIPE
    ) as process:
        os.close(writing)
        os.read(reading, 10)
        os.close(reading)
        shell.kafka.produce("long", *[b"x" * 1000] * 500)
        _, errors = process.communicate(timeout=20)

    assert process.returncode == 128 + signal.SIGPIPE
    assert errors == b""
