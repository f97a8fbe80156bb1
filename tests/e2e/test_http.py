"""The HTTP plane of a broker in a process of its own: how it is found, and how it is stopped."""

import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from trio_kafka.testing.ports import unused_port
from trio_kafka.testing.processes import BrokerProcess, broker_process

pytestmark = pytest.mark.slow

STALLED = 100
APPS = '''
from contextlib import asynccontextmanager
from trio_kafka.plugin import plugin


async def endless(scope, receive, send):
    scope["extensions"]["trio_kafka"]["unlimited"]()
    await send({"type": "http.response.start", "status": 200})
    while True:
        await send({"type": "http.response.body", "body": bytes(1 << 20), "more_body": True})


@plugin("endless")
@asynccontextmanager
async def apps(context):
    """Answers without an end."""
    context.mount("/endless", endless)
    yield
'''


def install(target: Path) -> None:
    """Write the files that an installer leaves of a package with that plugin."""
    (target / "endless_app.py").write_text(APPS)
    info = target / "endless_app-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.3\nName: endless-app\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[trio_kafka.plugins]\nendless = endless_app:apps\n")


@pytest.fixture
def port() -> int:
    return unused_port()


@pytest.fixture
def broker(tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[BrokerProcess]:
    packages = tmp_path / "packages"
    packages.mkdir()
    install(packages)
    monkeypatch.setenv("PYTHONPATH", str(packages))
    settings = [
        f"plugin.http.listeners=http://127.0.0.1:{port}",
        "plugin.http.send.timeout.ms=3600000",
    ]
    with broker_process(tmp_path, *settings) as started:
        yield started


def stalled(port: int) -> socket.socket:
    """A client that asked for an endless answer, and reads nothing of it."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", port))
    client.sendall(b"GET /endless HTTP/1.1\r\nhost: localhost\r\n\r\n")
    return client


def test_broker_stops_in_time_despite_100_http_clients_that_stopped_reading(
    broker: BrokerProcess, port: int
) -> None:
    with ExitStack() as clients:
        for _ in range(STALLED):
            clients.enter_context(stalled(port)).recv(1)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10) as answer:
            assert json.load(answer) == {"status": "ready"}

        began = time.monotonic()
        status = broker.stop(30.0)
        took_s = time.monotonic() - began

    log = broker.log.read_text()
    assert status == 0, log
    # 10 s of it are what the plugin of the endless answers has for them: plugin.*.drain.ms.
    assert took_s < 20
    assert "stop step cancelled" not in log
    assert "plugin=http generation=1 state=stopped" in log


def test_start_prints_the_address_of_the_http_listener(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "trio_kafka", "start", "--embedded"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(4)]
            match = re.search(r"curl (http://\S+)/readyz", lines[-1])
            assert match is not None, lines
            with urllib.request.urlopen(f"{match[1]}/healthz", timeout=10) as answer:
                assert json.load(answer) == {"status": "alive"}
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
