"""Ports for servers of tests: no other process takes one before its server starts."""

import socket
import subprocess
import sys
from contextlib import ExitStack

import pytest

from trio_kafka.testing.ports import LOOPBACK, unused_port

PRINT_PORT = """
import random

random.seed(1)
from trio_kafka.testing.ports import unused_port

print(unused_port(), flush=True)
input()
"""


def test_port_can_be_bound_and_is_not_one_that_systems_give_to_others() -> None:
    with socket.create_server((LOOPBACK, unused_port())) as listener:
        assert listener.getsockname()[1] < 32768


def test_port_is_not_returned_again_while_its_server_has_not_started() -> None:
    assert len({unused_port() for _ in range(100)}) == 100


def test_ports_of_processes_differ_though_they_have_the_same_random_seed() -> None:
    command = [sys.executable, "-c", PRINT_PORT]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    blocks = set()
    for process in processes:
        assert process.stdout is not None
        blocks.add(int(process.stdout.readline()) // 256)
    for process in processes:
        process.communicate("\n", timeout=30)

    assert len(blocks) == 4


def test_claim_of_ports_is_no_leak() -> None:
    check = """
from trio_kafka.testing.leaks import no_leaks
from trio_kafka.testing.ports import CLAIMS, unused_port

with no_leaks():
    unused_port()
assert len(CLAIMS) == 1
"""
    subprocess.run([sys.executable, "-c", check], check=True)


def test_ports_on_which_servers_listen_are_skipped_and_the_error_says_that_all_are_taken() -> None:
    taken = pytest.raises(OSError, match="all ports of this process are taken")
    with ExitStack() as servers, taken:
        while True:
            servers.enter_context(socket.create_server((LOOPBACK, unused_port())))

    assert unused_port()
