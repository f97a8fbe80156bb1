"""Opening of a consumer.

async with open_consumer({"bootstrap.servers": "localhost:9092", "group.id": "g"}) as consumer:
    consumer.subscribe(["orders"])
    async for record in consumer:
        ...
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Final, TypeVar, overload

import attrs

from trio_kafka.attributes import frozen
from trio_kafka.clients.client import Client, metadata_of, open_client, running
from trio_kafka.clients.consumer.closing import close_consumer
from trio_kafka.clients.consumer.consumer import Consumer
from trio_kafka.clients.consumer.fetcher import Fetcher
from trio_kafka.clients.consumer.interceptors import ConsumerInterceptor, InterceptedReader
from trio_kafka.clients.consumer.metrics import ConsumerMetrics
from trio_kafka.clients.consumer.positions import Positions
from trio_kafka.clients.consumer.reading import RecordReader
from trio_kafka.clients.consumer.turns import ReadTurns
from trio_kafka.clients.consumer.values import Deserializer, as_bytes
from trio_kafka.clients.interceptors import InterceptorChain, split_interceptors
from trio_kafka.clients.settings.consumer import ConsumerSettings
from trio_kafka.clients.settings.load import consumer_settings
from trio_kafka.introspect.tree import Node
from trio_kafka.world.real import RealWorld
from trio_kafka.world.world import World

K = TypeVar("K")
V = TypeVar("V")
CLOSE_TIMEOUT_S: Final = 30.0


@overload
def open_consumer(
    config: Mapping[str, object],
    *,
    close_timeout_s: float = CLOSE_TIMEOUT_S,
    world: World | None = None,
    tree: Node | None = None,
) -> AbstractAsyncContextManager[Consumer[bytes | None, bytes | None]]: ...


@overload
def open_consumer(
    config: Mapping[str, object],
    *,
    key_deserializer: Deserializer[K],
    value_deserializer: Deserializer[V],
    close_timeout_s: float = CLOSE_TIMEOUT_S,
    world: World | None = None,
    tree: Node | None = None,
) -> AbstractAsyncContextManager[Consumer[K, V]]: ...


def open_consumer(
    config: Mapping[str, object],
    *,
    key_deserializer: Deserializer[K] = as_bytes,  # type: ignore[assignment]
    value_deserializer: Deserializer[V] = as_bytes,  # type: ignore[assignment]
    close_timeout_s: float = CLOSE_TIMEOUT_S,
    world: World | None = None,
    tree: Node | None = None,
) -> AbstractAsyncContextManager[Consumer[K, V]]:
    """Open a consumer for the duration of a block.

    config: settings by Kafka's names, as texts or values. world: None: this machine.
    key_deserializer, value_deserializer: called with the topic and the bytes, or None for null.
    tree: node below which the consumer is shown; None: it is not.
    The end of the block commits if `enable.auto.commit` is set, calls the hooks of the listener,
    and leaves the group, within `close_timeout_s`. After an exception or a cancellation of the
    block it commits nothing and calls no hook, as the last record may not be processed; it leaves
    the group within a few seconds.
    Raises ConfigError; warns with SettingWarning of settings without effect.
    """
    config, interceptors = split_interceptors(config, ConsumerInterceptor)
    settings = consumer_settings(config)
    surroundings = _Surroundings(
        world=world or RealWorld(),
        tree=tree,
        close_timeout_s=close_timeout_s,
        interceptors=interceptors,
    )
    return _opened(settings, (key_deserializer, value_deserializer), surroundings)


@frozen(kw_only=True)
class _Surroundings:
    """Arguments of a consumer beside settings and deserializers."""

    world: World
    tree: Node | None
    close_timeout_s: float
    interceptors: Sequence[ConsumerInterceptor[object, object]]


@asynccontextmanager
async def _opened(
    settings: ConsumerSettings,
    deserializers: tuple[Deserializer[K], Deserializer[V]],
    surroundings: _Surroundings,
) -> AsyncIterator[Consumer[K, V]]:
    world = surroundings.world
    if not settings.client_id:
        name = f"consumer-{world.random.randrange(1 << 32):08x}"
        settings = attrs.evolve(settings, client_id=name)
    metadata = metadata_of(
        settings, world, creates_topics=settings.allow_auto_create_topics, kind="consumer"
    )
    async with open_client(
        metadata,
        name=settings.client_id,
        tree=surroundings.tree,
        lingers=True,
        labels=_labels(settings),
    ) as client:
        consumer = _consumer(client, settings, deserializers, surroundings.interceptors)
        tasks: dict[str, Callable[[], Awaitable[object]]] = {
            f"{settings.client_id}-fetcher": consumer.fetcher.run
        }
        client.node.add("reader", "part", consumer.figures)
        client.node.add("fetcher", "part", consumer.fetcher.figures)
        if consumer.group is not None:
            client.node.add("group", "part", consumer.group.figures)
            tasks[f"{settings.client_id}-group"] = consumer.group.run
        async with running(tasks, lingers=True):
            is_clean = False
            try:
                yield consumer
                is_clean = True
            finally:
                await close_consumer(
                    consumer, timeout_s=surroundings.close_timeout_s, is_clean=is_clean
                )
                if isinstance(consumer.turns.reader, InterceptedReader):
                    consumer.turns.reader.chain.tell(lambda interceptor: interceptor.close())


def _labels(settings: ConsumerSettings) -> dict[str, str]:
    """Return what pushed metrics say about the consumer. Source: KIP-714."""
    labels = {
        "client_rack": settings.client_rack,
        "group_id": settings.group_id,
        "group_instance_id": settings.group_instance_id,
    }
    return {name: value for name, value in labels.items() if value}


def _consumer(
    client: Client,
    settings: ConsumerSettings,
    deserializers: tuple[Deserializer[K], Deserializer[V]],
    interceptors: Sequence[ConsumerInterceptor[object, object]],
) -> Consumer[K, V]:
    positions = Positions(has_group=settings.group_id is not None)
    key_deserializer, value_deserializer = deserializers
    consumer: Consumer[K, V]

    def arrived() -> None:
        consumer.turns.wake()

    metrics = ConsumerMetrics(client.registry, positions, settings.is_committed_only)
    fetcher = Fetcher(
        metrics=metrics,
        client=client,
        settings=settings,
        positions=positions,
        arrived=arrived,
    )
    chain = InterceptorChain(interceptors, metrics.interceptor_errors)
    make_reader: Callable[..., RecordReader[K, V]] = RecordReader
    if interceptors:
        make_reader = partial(InterceptedReader, chain=chain)
    reader = make_reader(
        positions=positions,
        key_deserializer=key_deserializer,
        value_deserializer=value_deserializer,
        most=settings.max_poll_records,
        consumed=metrics.records,
    )
    turns = ReadTurns(positions=positions, fetcher=fetcher, reader=reader)
    consumer = Consumer(client=client, settings=settings, turns=turns)
    if settings.group_id is not None:
        from trio_kafka.clients.consumer.groups.opening import (  # noqa: PLC0415 - its messages
            GroupHooks,
            group_of,
        )

        hooks = GroupHooks(
            assigned=consumer.note_assignment, wake=turns.wake, processed=consumer.processed
        )
        group = group_of(client, settings, settings.group_id, positions, hooks)
        turns.group = group
        if interceptors:
            group.commits.watchers.append(
                lambda offsets: chain.tell(lambda interceptor: interceptor.on_commit(offsets))
            )
        metrics.read_group(lambda: group.commits.done, lambda: group.rebalance.rebalances)
    return consumer
