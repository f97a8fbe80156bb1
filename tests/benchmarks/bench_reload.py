"""Delay of clients by a plugin's reload whose import takes long: the longest pass of the loop.

    python -m tests.benchmarks.bench_reload [ms of import]

A broker process with a plugin that is reloaded ten times, while four connections ask ApiVersions
one by one. Its import takes as long as was asked for (200 ms) in one of three ways: Python that
runs, many modules that are compiled, one large module that is compiled. Prints what clients waited,
without reloads and with them.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks import protocol
from tests.benchmarks.connection import connect
from tests.plugin_host.packages import write
from trio_kafka.cli.broker_client import open_client
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k10003_reload_plugin import ReloadPluginRequest
from trio_kafka.testing.processes import Address, broker_process

RELOADS = 10
MODULES = 20
PLUGIN = """
{imports}
from contextlib import asynccontextmanager
from trio_kafka.plugin import plugin

{work}

@plugin("heavy")
@asynccontextmanager
async def heavy(context):
    yield
"""
COMPUTE = """
import time
began = time.thread_time()
while time.thread_time() - began < {seconds}:
    x = [str(n) for n in range(100)]
"""


def computing(ms: float) -> dict[str, str]:
    """Python that runs, in short bytecodes."""
    return {"": COMPUTE.format(seconds=ms / 1000)}


def many_modules(ms: float) -> dict[str, str]:
    """Each takes its part of the time to be compiled."""
    text = lines(ms / MODULES)
    return {f"part{number}": text for number in range(MODULES)}


def one_module(ms: float) -> dict[str, str]:
    return {"part": lines(ms)}


def lines(ms: float) -> str:
    """As much source as takes so long to be compiled."""
    line = (
        "def f(a, b=1):\n    return [a + n * b for n in range(10) if n % 2] or {'x': a, 'y': b}\n"
    )
    count = 50
    while True:
        began = time.perf_counter()
        compile(line * count, "lines", "exec")
        if (took_ms := (time.perf_counter() - began) * 1000) >= ms:
            return line * max(int(count * ms / took_ms), 1)
        count *= 2


def package(target: Path, modules: dict[str, str]) -> None:
    imports = "\n".join(f"from heavy_plugin import {name}" for name in modules if name)
    files = {f"heavy_plugin/{name}.py": text for name, text in modules.items() if name}
    files["heavy_plugin/serving.py"] = PLUGIN.format(imports=imports, work=modules.get("", ""))
    files["heavy_plugin/__init__.py"] = ""
    write(target, "heavy-plugin", files, {"heavy": "heavy_plugin.serving:heavy"})


class Client(threading.Thread):
    """Asks one by one; keeps how long it has waited, ms."""

    def __init__(self, address: Address) -> None:
        super().__init__()
        self.waits: list[float] = []
        self.stop = threading.Event()
        self._address = address

    def run(self) -> None:
        request = protocol.frame(protocol.API_VERSIONS, 0)
        with connect(self._address) as connection:
            while not self.stop.wait(0.001):
                began = time.perf_counter()
                connection.call(request)
                self.waits.append((time.perf_counter() - began) * 1000)


@contextmanager
def clients(address: Address) -> Iterator[list[Client]]:
    result = [Client(address) for _ in range(4)]
    for client in result:
        client.start()
    try:
        yield result
    finally:
        for client in result:
            client.stop.set()
            client.join()


def percentiles(waits: list[float]) -> str:
    ordered = sorted(waits)
    shares = [ordered[int(len(ordered) * share)] for share in (0.5, 0.99)]
    return f"p50 {shares[0]:.2f}, p99 {shares[1]:.1f}, longest {ordered[-1]:.1f} ms"


def measure(name: str, modules: dict[str, str], directory: Path) -> None:
    packages = directory / "packages"
    packages.mkdir(parents=True)
    package(packages, modules)
    os.environ["PYTHONPATH"] = str(packages)
    with broker_process(directory) as broker:
        endpoint = Endpoint(*broker.address)
        with clients(broker.address) as quiet:
            time.sleep(1)
        took = []
        with clients(broker.address) as busy:
            for _ in range(RELOADS):
                time.sleep(0.1)
                began = time.perf_counter()
                with open_client(endpoint, 30, unknown="") as ask:
                    answer = ask(ReloadPluginRequest("heavy"))
                took.append((time.perf_counter() - began) * 1000)
                if answer.error_code:
                    raise RuntimeError(answer.error_message)
    print(f"{name}: reload {min(took):.0f} ms")
    print(f"  without: {percentiles([wait for request in quiet for wait in request.waits])}")
    print(
        f"  with:    {percentiles([wait for request in busy for wait in request.waits])}",
        flush=True,
    )


def main() -> None:
    ms = float(sys.argv[1]) if len(sys.argv) > 1 else 200.0
    for make in (computing, many_modules, one_module):
        with TemporaryDirectory() as directory:
            measure(make.__name__, make(ms), Path(directory))


if __name__ == "__main__":
    main()
