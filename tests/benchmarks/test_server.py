import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.benchmarks.server import Server, cpu_with_children_s, listening_pid
from trio_kafka.testing.ports import unused_port

BUSY_CHILD = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "sum(range(10**6)); print(); input()"])
child.wait()
"""


def test_process_that_listens_on_a_port_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert listening_pid(listener.getsockname()[1]) == os.getpid()


def test_a_port_without_a_listener_has_no_process() -> None:
    with pytest.raises(LookupError, match="no process"):
        listening_pid(unused_port())


@pytest.mark.slow
def test_server_is_idle_only_after_its_work_has_ended() -> None:
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            pass

    worker = threading.Thread(target=work)
    worker.start()
    server = Server(os.getpid())
    try:
        # A machine that stands still for a moment looks idle, too.
        looks = (server.wait_until_idle(cores=0.01, within_s=0.3) for _ in range(10))
        assert not all(looks)
    finally:
        over.set()
        worker.join()
    assert server.wait_until_idle(cores=0.2)


@pytest.mark.slow
def test_cpu_time_and_memory_of_a_server_include_its_child_processes() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", BUSY_CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()  # the child has worked, and waits
        server = Server(parent.pid)
        children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()

        assert len(children) == 1
        assert server.rss() > 2 * 5_000_000
        assert server.cpu_s() > 0.01
        parent.communicate(b"\n")


def test_cpu_time_of_an_ended_child_process_counts_for_its_parent() -> None:
    burn = "import time; t = time.process_time() + 0.3\nwhile time.process_time() < t: pass"
    before = cpu_with_children_s(os.getpid())

    subprocess.run([sys.executable, "-c", burn], check=True)

    assert cpu_with_children_s(os.getpid()) - before > 0.25
