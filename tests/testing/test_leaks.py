"""The check finds each kind of leak, and the kit's brokers have none."""

import asyncio
import mmap
import os
import socket
import subprocess
import sys
import threading
from contextlib import asynccontextmanager

import pytest
import trio

from trio_kafka.broker import StartError
from trio_kafka.config.load import ConfigError
from trio_kafka.errors import InvariantError
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.testing.kafka.in_loop import kafka_in_loop
from trio_kafka.testing.kafka.machines import MemoryMachine
from trio_kafka.testing.kafka.threaded import running_broker
from trio_kafka.testing.leaks import LeakError, no_leaks, no_leaks_in_loop
from trio_kafka.world.clock import SkippingClock


@pytest.fixture(scope="module", autouse=True)
def imported():
    """Run a broker first: the imports and objects that the first of a process keeps are no leak."""
    with running_broker() as kafka:
        kafka.produce("orders", "a")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr("trio_kafka.testing.leaks._SETTLE_S", 0.05)


def test_ended_thread_and_closed_file_are_no_leaks():
    with no_leaks():
        threading.Thread(target=int, name="ends").start()
        with open(__file__):
            pass


def test_running_thread_is_a_leak_and_an_idle_thread_of_trio_is_not():
    ended = threading.Event()
    with pytest.raises(LeakError, match=r"left behind:\n- thread mine$"), no_leaks():
        threading.Thread(target=ended.wait, name="mine").start()
    ended.set()
    with no_leaks():
        trio.run(trio.to_thread.run_sync, int)


def test_open_files_and_sockets_are_leaks(tmp_path):
    path = str(tmp_path / "left")
    with pytest.raises(LeakError) as caught, no_leaks():
        file = open(path, "w")  # noqa: SIM115 - left open
        listening = socket.create_server(("127.0.0.1", 0))
        connected = socket.create_connection(listening.getsockname())
        pipe = os.pipe()
    port, other = listening.getsockname()[1], connected.getsockname()[1]
    assert str(caught.value).splitlines() == [
        "left behind:",
        f"- file {path}",
        "- file pipe (2)",
        f"- listening socket INET 127.0.0.1:{port}",
        f"- socket INET 127.0.0.1:{other} to 127.0.0.1:{port}",
    ]
    for resource in (file, listening, connected):
        resource.close()
    for number in pipe:
        os.close(number)


def test_running_processes_and_memory_mappings_are_leaks(tmp_path):
    path = tmp_path / "mapped"
    path.write_bytes(b"a" * 4096)
    with pytest.raises(LeakError) as caught, no_leaks():
        child = subprocess.Popen(["sleep", "60"])
        with open(path, "r+b") as file:
            mapped = mmap.mmap(file.fileno(), 0)
    assert f"- mapping of {path}" in str(caught.value)
    assert f"- process {child.pid} sleep" in str(caught.value)
    child.kill()
    child.wait()
    mapped.close()


async def test_running_task_is_a_leak():
    async with trio.open_nursery() as nursery:
        with pytest.raises(LeakError, match="- task mine"):
            async with no_leaks_in_loop():
                nursery.start_soon(trio.sleep_forever, name="mine")
        nursery.cancel_scope.cancel()


def test_the_error_of_a_block_has_its_leaks_as_a_note():
    ended = threading.Event()
    with pytest.raises(ValueError, match="of the block") as caught, no_leaks():
        threading.Thread(target=ended.wait, name="mine").start()
        raise ValueError("of the block")
    ended.set()
    assert caught.value.__notes__ == ["left behind:\n- thread mine"]


# --- the kit's brokers


@pytest.fixture
def patient(monkeypatch, quick):
    """A thread that has been joined may still be in the lists of the system for a moment."""
    monkeypatch.setattr("trio_kafka.testing.leaks._SETTLE_S", 5.0)


@pytest.mark.parametrize("on_disk", [False, True])
def test_ended_broker_leaves_no_leaks(patient, tmp_path, on_disk):
    with no_leaks():
        directory = str(tmp_path) if on_disk else None
        with running_broker(topics=["orders"], directory=directory) as kafka:
            kafka.produce("orders", "a")
            host, _, port = kafka.bootstrap.rpartition(":")
            with socket.create_connection((host, int(port))):
                kafka.restart()
                kafka.kill()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, asyncio.CancelledError])
def test_broker_leaves_no_leaks_when_its_block_raises(patient, error):
    with no_leaks(), pytest.raises(error), running_broker() as kafka:
        kafka.produce("orders", "a")
        kafka.pause()
        raise error


def test_broker_leaves_no_leaks_when_its_asyncio_task_is_cancelled(patient):
    async def main():
        with running_broker() as kafka:
            await kafka.aio.wait_for_records("orders", 1, timeout_s=60)

    async def cancel():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(main(), 0.5)

    asyncio.run(asyncio.sleep(0))
    with no_leaks():
        asyncio.run(cancel())


def test_broker_in_a_trio_loop_leaves_no_leaks_when_cancelled(patient):
    async def main():
        async with no_leaks_in_loop():
            with trio.move_on_after(0.1):
                async with kafka_in_loop(MemoryMachine(clock=SkippingClock())):
                    await trio.sleep_forever()

    trio.run(main)


def test_failed_broker_leaves_no_leaks(patient):
    async def fail(kafka):
        kafka.broker.tasks.fail(InvariantError("wrong"))

    with no_leaks(), pytest.raises(InvariantError), running_broker() as kafka:
        kafka.thread.call(fail, kafka)


@asynccontextmanager
async def not_ready(context):
    raise ValueError("not ready")
    yield


def test_failed_start_of_a_broker_leaves_no_leaks(patient, tmp_path):
    taken = socket.create_server(("127.0.0.1", 0))
    (tmp_path / "meta.properties").write_text("version=1\n")
    plugin = Plugin(name="broken", run=not_ready, policy="fatal")
    with taken, no_leaks():
        for error, arguments in (
            (ConfigError, {"settings": {"num.partition": "1"}}),
            (Exception, {"port": taken.getsockname()[1]}),
            (StartError, {"directory": str(tmp_path)}),
            (Exception, {"plugins": [plugin]}),
            (Exception, {"topics": {"orders": -7}}),
        ):
            with pytest.raises(error), running_broker(**arguments):
                pytest.fail(f"started with {arguments}")


MANY = """
import gc, os, sys, threading, time
from trio_kafka.testing.kafka.threaded import running_broker

def size():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def figures():
    return size(), len(os.listdir("/proc/self/fd")), len(threading.enumerate())

count = int(sys.argv[1])
for number in range(count):
    with running_broker(topics=["orders"]) as kafka:
        kafka.produce("orders", b"a" * 1000)
    if number == count // 4:
        before = figures()
after = figures()
print(*[end - begin for begin, end in zip(before, after)], time.process_time())
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_many_starts_and_stops_do_not_increase_memory_descriptors_or_threads(size):
    count = size(20, 200)
    done = subprocess.run(
        [sys.executable, "-c", MANY, str(count)], capture_output=True, text=True, check=True
    )
    grown, descriptors, threads, cpu_s = map(float, done.stdout.split())
    print(f"{count} starts and stops: {grown / 1e6:.1f} MB, {cpu_s / count * 1e3:.0f} ms of CPU")
    assert grown < size(6e6, 3e6)  # what the first starts keep counts more in the short form
    assert descriptors == 0
    assert threads <= 3  # idle ones of Trio
