"""A Kafka broker under test in a thread of its own, for callers with any loop or none.

    with running_broker(topics=["orders"]) as kafka:
        kafka.produce("orders", b"one")
        client = Consumer({"bootstrap.servers": kafka.bootstrap, ...})

Methods of `Kafka` block; `Kafka.aio` has the same ones to await in asyncio, anyio and Trio.
"""

import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import partial, wraps
from typing import Concatenate, Final, ParamSpec, TypeVar, Unpack

from trio_kafka.broker import RunningBroker
from trio_kafka.controls.controls import BlockingControls
from trio_kafka.controls.keywords import suggesting
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.testing.kafka.access import Access, AccessOptions, ClientConfig
from trio_kafka.testing.kafka.in_loop import KafkaInLoop, kafka_in_loop
from trio_kafka.testing.kafka.life import LifeSettings
from trio_kafka.testing.kafka.machines import DiskMachine, Machine, MemoryMachine
from trio_kafka.testing.kafka.releases import find_release
from trio_kafka.testing.loop_thread import LoopThread
from trio_kafka.world.clock import SkippingClock

__tracebackhide__ = True  # pytest ends the traceback of a failed test where it calls the kit

P = ParamSpec("P")
T = TypeVar("T")
_Method = Callable[Concatenate[KafkaInLoop, P], Awaitable[T]]
_PAUSE_S: Final = 10.0


def _blocking(method: _Method[P, T]) -> "Callable[Concatenate[Kafka, P], T]":
    """Return a method that runs one of KafkaInLoop in its loop and waits for it."""

    @wraps(method)
    def call(self: "Kafka", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.thread.call(partial(method, self.in_loop, *args, **kwargs))

    return call


def _awaitable(
    method: _Method[P, T],
) -> "Callable[Concatenate[AsyncKafka, P], Awaitable[T]]":
    """Return a method that runs one of KafkaInLoop in its loop, to be awaited in any other."""

    @wraps(method)
    async def call(self: "AsyncKafka", /, *args: P.args, **kwargs: P.kwargs) -> T:
        kafka = self.kafka
        return await kafka.thread.await_call(partial(method, kafka.in_loop, *args, **kwargs))

    return call


class AsyncKafka:
    """The methods of `Kafka`, to be awaited in asyncio, anyio or Trio."""

    def __init__(self, kafka: "Kafka") -> None:
        self.kafka = kafka

    look = _awaitable(KafkaInLoop.look)
    start = _awaitable(KafkaInLoop.start)
    stop = _awaitable(KafkaInLoop.stop)
    kill = _awaitable(KafkaInLoop.kill)
    restart = _awaitable(KafkaInLoop.restart)
    as_version = _awaitable(KafkaInLoop.as_version)
    advance = _awaitable(KafkaInLoop.advance)
    reset_clock = _awaitable(KafkaInLoop.reset_clock)
    jobs = _awaitable(KafkaInLoop.jobs)
    run_job = _awaitable(KafkaInLoop.run_job)
    apply_retention = _awaitable(KafkaInLoop.apply_retention)
    create_topic = _awaitable(KafkaInLoop.create_topic)
    delete_topic = _awaitable(KafkaInLoop.delete_topic)
    compact = _awaitable(KafkaInLoop.compact)
    delete_records = _awaitable(KafkaInLoop.delete_records)
    topics = _awaitable(KafkaInLoop.topics)
    topic = _awaitable(KafkaInLoop.topic)
    produce = _awaitable(KafkaInLoop.produce)
    records = _awaitable(KafkaInLoop.records)
    groups = _awaitable(KafkaInLoop.groups)
    group = _awaitable(KafkaInLoop.group)
    delete_group = _awaitable(KafkaInLoop.delete_group)
    commit = _awaitable(KafkaInLoop.commit)
    abort = _awaitable(KafkaInLoop.abort)
    transactions = _awaitable(KafkaInLoop.transactions)
    transaction = _awaitable(KafkaInLoop.transaction)
    wait_until = _awaitable(KafkaInLoop.wait_until)
    wait_for_group = _awaitable(KafkaInLoop.wait_for_group)
    wait_for_transaction = _awaitable(KafkaInLoop.wait_for_transaction)
    wait_for_records = _awaitable(KafkaInLoop.wait_for_records)


class Kafka:
    """A broker under test in a thread of its own. See `KafkaInLoop` for its methods.

    Methods block; they may be called from any thread but the broker's own.
    controls: fault rules, coroutines, recorded requests, limits of versions. fault, on: of these.
    """

    def __init__(self, thread: LoopThread[KafkaInLoop], in_loop: KafkaInLoop) -> None:
        self.thread = thread
        self.in_loop = in_loop
        self.aio = AsyncKafka(self)
        self.controls = BlockingControls(thread, in_loop.controls)
        self.fault, self.on = self.controls.fault, self.controls.on
        self._resume: threading.Event | None = None

    @property
    def bootstrap(self) -> str:
        """Address for clients, as host:port; the same after a restart. Raises NotRunningError."""
        return self.in_loop.bootstrap

    def client_config(
        self, user: str | None = None, *, client: str = "confluent_kafka"
    ) -> ClientConfig:
        """Return the settings with which a client reaches the broker, its address among them.

        user: one of `users`; None: the client's certificate, or none. client: the library.
        Raises ValueError, NotRunningError.
        """
        return self.in_loop.client_config(user, client=client)

    @property
    def is_running(self) -> bool:
        return self.in_loop.is_running

    @property
    def broker(self) -> RunningBroker:
        """The running broker, to look inside; it belongs to the thread of its loop."""
        return self.in_loop.broker

    look = _blocking(KafkaInLoop.look)
    start = _blocking(KafkaInLoop.start)
    stop = _blocking(KafkaInLoop.stop)
    kill = _blocking(KafkaInLoop.kill)
    restart = _blocking(KafkaInLoop.restart)
    as_version = _blocking(KafkaInLoop.as_version)
    advance = _blocking(KafkaInLoop.advance)
    reset_clock = _blocking(KafkaInLoop.reset_clock)
    jobs = _blocking(KafkaInLoop.jobs)
    run_job = _blocking(KafkaInLoop.run_job)
    apply_retention = _blocking(KafkaInLoop.apply_retention)
    create_topic = _blocking(KafkaInLoop.create_topic)
    delete_topic = _blocking(KafkaInLoop.delete_topic)
    compact = _blocking(KafkaInLoop.compact)
    delete_records = _blocking(KafkaInLoop.delete_records)
    topics = _blocking(KafkaInLoop.topics)
    topic = _blocking(KafkaInLoop.topic)
    produce = _blocking(KafkaInLoop.produce)
    records = _blocking(KafkaInLoop.records)
    groups = _blocking(KafkaInLoop.groups)
    group = _blocking(KafkaInLoop.group)
    delete_group = _blocking(KafkaInLoop.delete_group)
    commit = _blocking(KafkaInLoop.commit)
    abort = _blocking(KafkaInLoop.abort)
    transactions = _blocking(KafkaInLoop.transactions)
    transaction = _blocking(KafkaInLoop.transaction)
    wait_until = _blocking(KafkaInLoop.wait_until)
    wait_for_group = _blocking(KafkaInLoop.wait_for_group)
    wait_for_transaction = _blocking(KafkaInLoop.wait_for_transaction)
    wait_for_records = _blocking(KafkaInLoop.wait_for_records)

    @property
    def is_paused(self) -> bool:
        return self._resume is not None

    def pause(self) -> None:
        """Stop the broker as SIGSTOP does: connections stay, nothing is answered.

        Other methods wait until `resume`. Raises RuntimeError if it is paused.
        """
        if self._resume is not None:
            raise RuntimeError("the broker is paused already")
        self._resume = self.thread.hold()

    def resume(self) -> None:
        """Go on after `pause`. Idempotent."""
        resume, self._resume = self._resume, None
        if resume is not None:
            resume.set()


@suggesting
@contextmanager
def running_broker(
    settings: Mapping[str, str] | None = None,
    *,
    topics: Mapping[str, int] | Iterable[str] = (),
    directory: str | None = None,
    port: int = 0,
    plugins: Sequence[Plugin] | None = (),
    as_version: str | None = None,
    seed: int = 0,
    name: str = "trio-kafka",
    **access: Unpack[AccessOptions],
) -> Iterator[Kafka]:
    """Run a broker in a thread of its own for the block; it serves when the block begins.

    settings: by Kafka's names; others are Kafka's defaults, but for `QUICK` ones.
    topics: created at the start: names, or names with numbers of partitions.
    directory: for its files; None: they are in memory. port: 0: a free one.
    plugins: only these; None: the installed ones, the HTTP plane too.
    seed: of fault rules, and of what a power loss takes. name: of the thread, and in errors.
    as_version: release of Kafka that it acts as, such as "3.9"; None: the newest.
    access: how clients reach it: `tls=True`, `users={name: password}`, `mechanism` of SASL,
        `acls=["allow ann to READ topic orders*"]`; see `Access`. `Kafka.client_config` has the
        settings of clients.
    Raises StartError, ConfigError, UnknownReleaseError, ValueError. If the broker fails meanwhile,
    its methods raise LoopEndedError, and the failure is raised when the block is left.
    """
    how = LifeSettings(
        settings=dict(settings or {}),
        port=port,
        plugins=plugins,
        release=None if as_version is None else find_release(as_version),
        access=Access(**access),
        seed=seed,
    )

    def make(clock: SkippingClock) -> AbstractAsyncContextManager[KafkaInLoop]:
        machine: Machine
        if directory is None:
            machine = MemoryMachine(clock=clock, seed=seed)
        else:
            machine = DiskMachine(clock, directory)
        return kafka_in_loop(machine, how, topics)

    thread = LoopThread(make, name)
    kafka = Kafka(thread, thread.start())
    try:
        yield kafka
    finally:
        kafka.resume()
        thread.stop()
