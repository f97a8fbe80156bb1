"""Small requests while the data plane is saturated, with a control plane and without one.

The load is a process of its own, and gives way to others where cores are few: connections that
produce batches of 1 MiB, fetch from 100 partitions, or ask for all topics, each as soon as it has
its last answer. ApiVersions and DescribeCluster are asked on the control plane's listener, or,
without one, on that of the data plane. Who asks stands for a client on another machine: beside the
load it does not wait for a core itself, if it is allowed to do so. The same is asked of an `echo`,
a process that does nothing else: what that takes beside the load is the machine's part.
"""

import multiprocessing
import os
import select
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import cycle
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from attrs import frozen

from tests.benchmarks import protocol
from tests.benchmarks.bounds import at_most, times_own
from tests.benchmarks.brokers import SETTINGS
from tests.benchmarks.connection import connect
from tests.benchmarks.figures import Figure, Figures, rate
from tests.benchmarks.rows.raw import make_batch
from tests.benchmarks.rows.registry import NotApplicableError, Target, row
from trio_kafka.protocol.compiler import decoder
from trio_kafka.protocol.messages.k19_create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from trio_kafka.protocol.messages.k60_describe_cluster import DescribeClusterRequest
from trio_kafka.testing.ports import LOOPBACK, unused_port
from trio_kafka.testing.processes import Address, broker_process, trio_kafka_command
from trio_kafka.testing.scripted_client import request_frame

ECHO: Final = "echo"
_EVERY_S: Final = 0.002
_LEAST: Final = 5
_WITHIN_S: Final = 60
_STOP_S: Final = 300  # of a broker with 10,000 logs
_AT_ONCE: Final = 1000  # topics in one CreateTopics
_BATCH: Final = 1 << 20
_PARTITIONS: Final = 100
_TOPIC: Final = "load"
_METADATA_OF_ALL: Final = protocol.frame(protocol.METADATA, 1, struct.pack(">i", -1))
_FETCH_OF_ALL: Final = protocol.poll_request(
    _TOPIC, [(number, 0) for number in range(_PARTITIONS)], partition_size=16_384
)
_REQUESTS: Final = {
    "ApiVersions": protocol.frame(protocol.API_VERSIONS, 0),
    "DescribeCluster": request_frame(DescribeClusterRequest(), 0),
    ECHO: b"\0\0\0\x20" + bytes(32),
}


@frozen(kw_only=True)
class Load:
    """How many connections do what, and how many topics there are."""

    producing: int
    fetching: int
    asking: int
    topics: int


_SHORT: Final = Load(producing=50, fetching=10, asking=2, topics=500)
_LONG: Final = Load(producing=200, fetching=20, asking=4, topics=10_000)


def figure_of(api: str, where: str) -> str:
    return f"{api}, {where}"


def _bounds(api: str) -> tuple[object, ...]:
    loaded, idle = figure_of(api, "control plane"), figure_of(api, "idle")
    return at_most(loaded, must=10, aim=5), times_own(loaded, idle, must=5, aim=2)


@row("control-plane", *_bounds("ApiVersions"), *_bounds("DescribeCluster"), load=_SHORT)
@row("control-plane-long", *_bounds("ApiVersions"), *_bounds("DescribeCluster"), load=_LONG)
def control_plane(target: Target, load: Load) -> Figures:
    """The 99th percentile of each, nothing else to do (`idle`), beside the load on a control plane,
    and beside the load without one.
    """
    if target.broker.name != "trio-kafka":
        raise NotApplicableError("Kafka has no control plane since 4.0")
    figures: dict[str, Figure] = {}
    for control in True, False:
        with _broker(target.directory, control=control) as (data, address), _echo() as echo:
            _create_topics(data, load.topics)
            _fill(data)
            if control:
                os.sync()  # or the disk is not idle
                figures |= _percentiles(address, echo, "idle", target.seconds)
            name = "control plane" if control else "none"
            with loading(data, load) as rates, _first_on_its_core():
                figures |= _percentiles(address, echo, name, target.seconds)
            figures[f"produce, {name}"] = rate(rates[0] / 1e6, "MB/s")
    return figures


def _percentiles(address: Address, echo: Address, where: str, seconds: float) -> dict[str, Figure]:
    """The 99th percentile of each API, and of the echo: all asked in turn."""
    with ExitStack() as stack:
        calls = {}
        for name, request in _REQUESTS.items():
            connection = stack.enter_context(connect(echo if name == ECHO else address))
            connection.socket.settimeout(_WITHIN_S)
            calls[name] = partial(connection.call, request)
        all_took_s = _ask(calls, seconds * len(calls))
    result = {}
    for name, took_s in all_took_s.items():
        took_s.sort()
        result[figure_of(name, where)] = Figure(took_s[int(len(took_s) * 0.99)] * 1e3, "ms")
    return result


def _ask(calls: Mapping[str, Callable[[], object]], seconds: float) -> dict[str, list[float]]:
    """How long each answer took. The next one is asked when the last has come: a plane that is
    saturated would be behind for minutes.
    """
    all_took_s: dict[str, list[float]] = {name: [] for name in calls}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(all_took_s[ECHO]) < _LEAST:
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            took_s = time.perf_counter() - began
            all_took_s[name].append(took_s)
            time.sleep(max(_EVERY_S - took_s, 0))
    return all_took_s


@contextmanager
def _first_on_its_core() -> Iterator[None]:
    """This process runs as soon as it can while the block does, if it is allowed to."""
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


@contextmanager
def _echo() -> Iterator[Address]:
    """Where each frame is answered with itself, by a process that does nothing else."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        process = multiprocessing.get_context("spawn").Process(
            target=_answer, args=(listener,), daemon=True
        )
        process.start()
        try:
            yield listener.getsockname()
        finally:
            process.terminate()
            process.join(_WITHIN_S)


def _answer(listener: socket.socket) -> None:
    while True:
        client, _ = listener.accept()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while content := client.recv(1 << 16):  # a frame: nobody sends two before the answer
            client.sendall(content)
        client.close()


@contextmanager
def _broker(directory: Path, *, control: bool) -> Iterator[tuple[Address, Address]]:
    """A broker of its own: where its data plane is, and where small requests are asked."""
    second = unused_port()

    def command(port: int, data: Path, settings: object) -> list[str]:
        both = f"PLAINTEXT://{LOOPBACK}:{port},CONTROL://{LOOPBACK}:{second}"
        control_settings = [
            *SETTINGS,
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROL:PLAINTEXT",
            "control.plane.listener.name=CONTROL",
            f"listeners={both}",
        ]
        return trio_kafka_command(port, data, control_settings if control else SETTINGS)

    with (
        TemporaryDirectory(dir=directory) as where,
        broker_process(Path(where), command=command, stop_timeout_s=_STOP_S) as broker,
    ):
        yield broker.address, ((LOOPBACK, second) if control else broker.address)


def _create_topics(address: Address, topics: int) -> None:
    """One of 100 partitions for the load, and those that Metadata tells of."""
    expected = [CreatableTopic(f"other-{number}", 1, 1) for number in range(topics)]
    for first in range(0, len(expected) + 1, _AT_ONCE):
        some = [CreatableTopic(_TOPIC, _PARTITIONS, 1)] if not first else []
        request = CreateTopicsRequest(
            [*some, *expected[first : first + _AT_ONCE]], timeout_ms=60_000
        )
        with connect(address) as connection:
            connection.socket.settimeout(_WITHIN_S)
            content = bytes(connection.call(request_frame(request, 5)))
        response = decoder(CreateTopicsResponse, 5)(content, 5)[0]
        if failed := [topic for topic in response.topics if topic.error_code]:
            raise ValueError(f"CreateTopics: {len(failed)} failed, {failed[0].error_code}")


def _fill(address: Address) -> None:
    """Something to fetch in each partition. ValueError if the load's requests are refused."""
    batch, _ = make_batch(10_240, _BATCH)
    with connect(address) as connection:
        for number in range(_PARTITIONS):
            request = protocol.produce_request(_TOPIC, batch, acks=1, first=number)
            if error := protocol.produce_error(_TOPIC, connection.call(request)):
                raise ValueError(f"Produce: error {error}")
        result = protocol.poll_answer(_TOPIC, connection.call(_FETCH_OF_ALL))
        if result.error or result.partitions != _PARTITIONS or not result.records:
            raise ValueError(f"Fetch: {result[:4]}")


@contextmanager
def loading(address: Address, load: Load) -> Iterator[list[float]]:
    """The load runs while the block does; afterwards the list has its bytes/s of Produce."""
    rates: list[float] = []
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=_run, args=(address, load, theirs), daemon=True
    )
    process.start()
    theirs.close()
    try:
        _wait(ours)
        yield rates
        ours.send("stop")
        rates.append(_wait(ours))
    finally:
        ours.close()
        process.join(_WITHIN_S)


def _wait(pipe: Pipe) -> float:
    if not pipe.poll(_WITHIN_S):
        raise TimeoutError(f"the load had {_WITHIN_S} s")
    try:
        return float(pipe.recv())
    except EOFError:
        raise ConnectionError("the load ended early: see above") from None


def _run(address: Address, load: Load, pipe: Pipe) -> None:
    """Until told to stop; tells when each connection has had an answer, and its rate at the end."""
    os.nice(10)
    with select.epoll() as poll:
        clients = {client.key: client for client in _clients(address, load)}
        for key, client in clients.items():
            poll.register(key, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)
            client.go_on()
        while not all(client.answers for client in clients.values()):
            _turn(poll, clients)
        pipe.send(0)
        before = {key: client.written for key, client in clients.items()}
        began = time.perf_counter()
        while not pipe.poll():
            _turn(poll, clients)
        took_s = time.perf_counter() - began
        pipe.send(sum(client.written - before[key] for key, client in clients.items()) / took_s)


def _turn(poll: select.epoll, clients: dict[int, "_Client"]) -> None:
    ready = poll.poll(_WITHIN_S)
    if not ready:
        raise TimeoutError(f"no answer for {_WITHIN_S} s")
    for key, _ in ready:
        clients[key].go_on()


def _clients(address: Address, load: Load) -> Iterator["_Client"]:
    batch, _ = make_batch(10_240, _BATCH)
    partitions = cycle(range(_PARTITIONS))
    for _ in range(load.producing):
        request = protocol.produce_request(_TOPIC, batch, acks=1, first=next(partitions))
        yield _Client(address, request, len(batch))
    for _ in range(load.fetching):
        yield _Client(address, _FETCH_OF_ALL)
    for _ in range(load.asking):
        yield _Client(address, _METADATA_OF_ALL)


class _Client:
    """One connection that asks the same again and again, without looking at the answers."""

    def __init__(self, address: Address, request: bytes, written: int = 0) -> None:
        """written: bytes that an answer says were written."""
        self._socket = socket.create_connection(address, _WITHIN_S)
        self._socket.setblocking(False)
        self.key = self._socket.fileno()
        self.answers = self.written = 0
        self._request, self._each = request, written
        self._unsent = memoryview(request)
        self._head = b""
        self._remaining = 0  # of an answer

    def go_on(self) -> None:
        """As far as the socket lets it."""
        try:
            while True:
                while self._unsent:
                    self._unsent = self._unsent[self._socket.send(self._unsent) :]
                self._receive()
        except BlockingIOError:
            pass

    def _receive(self) -> None:
        while len(self._head) < 4:
            self._head += self._some(4 - len(self._head))
            (self._remaining,) = struct.unpack(">i", self._head.ljust(4, b"\0"))
        while self._remaining:
            self._remaining -= len(self._some(min(self._remaining, 1 << 18)))
        self._head, self._unsent = b"", memoryview(self._request)
        self.answers += 1
        self.written += self._each

    def _some(self, size: int) -> bytes:
        got = self._socket.recv(size)
        if not got:
            raise ConnectionError("closed by the broker")
        return got
