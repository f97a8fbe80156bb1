"""`start --testing`: one line with all addresses, and an end with the parent."""

import json
import os
import select
import signal
import subprocess
import sys

import pytest

from tests.broker.kit import APIS, config_of
from trio_kafka.broker import Broker
from trio_kafka.cli.testing_broker import machine_for, print_testing_addresses, quick_settings
from trio_kafka.config.load import load, options
from trio_kafka.testing.processes import ask_api_versions
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.in_memory import InMemoryWorld
from trio_kafka.world.real import RealWorld
from trio_kafka_builtin.faults.plugin import faults
from trio_kafka_http.plugin import http

START = [sys.executable, "-m", "trio_kafka", "start", "--testing"]


def test_testing_broker_keeps_files_in_memory_unless_a_directory_is_set() -> None:
    def world(*settings: str) -> RealWorld:
        return machine_for(load(quick_settings(), options(settings)).config)(1000)

    assert isinstance(world(), InMemoryWorld)
    for setting in ("log.dirs=/a,/b", "log.dir=/a"):
        assert not isinstance(world(setting), InMemoryWorld)
    assert all(
        isinstance(machine.clock, SkippingClock) for machine in (world(), world("log.dir=/a"))
    )


async def test_addresses_of_fault_controls_are_empty_if_the_plugin_is_disabled(
    autojump_clock, capsys
) -> None:
    async with Broker(
        config_of(),
        simulated_world(),
        format_if_empty=True,
        apis=APIS,
        plugins=(http, faults),
    ) as broker:
        print_testing_addresses(broker)

    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["testing"] == []


def _line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    assert select.select([process.stdout], [], [], 30)[0], "no line within 30 s"
    return process.stdout.readline()


@pytest.mark.slow
def test_testing_broker_prints_its_addresses_as_one_json_line_when_ready() -> None:
    with subprocess.Popen(START, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        result = json.loads(_line(process))
        host, port = result["bootstrap"].split(":")
        (http_address,) = result["http"]
        assert result["directories"] == []
        assert 0 in ask_api_versions((host, int(port)))
        assert result["testing"] == [f"{http_address}/testing/v1"]

        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        assert (process.stdout.read(), process.wait(30)) == (b"", 0)


@pytest.mark.slow
def test_testing_broker_ends_when_its_parent_process_ends() -> None:
    """The parent is a shell that is killed, so that it cannot tell its child."""
    script = f"{' '.join(START)} --with-parent 2>/dev/null & read line"
    with subprocess.Popen(
        ["bash", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        assert json.loads(_line(parent))["bootstrap"]
        assert parent.stdin is not None
        assert parent.stdout is not None
        os.kill(parent.pid, signal.SIGKILL)
        # The pipe ends with the last process that has it: the broker.
        assert select.select([parent.stdout], [], [], 30)[0], "the broker is still there"
        assert parent.stdout.read() == b""
