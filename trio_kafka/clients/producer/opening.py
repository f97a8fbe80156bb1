"""Opening of a producer.

async with open_producer({"bootstrap.servers": "localhost:9092"}) as producer:
    receipt = await producer.send(ProducerRecord("orders", b"1 apple", key=b"me"))
    metadata = await receipt
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from random import Random  # noqa: TID251 - that of the world
from typing import TYPE_CHECKING, TypeVar, overload

import attrs

from trio_kafka.attributes import frozen
from trio_kafka.clients.client import Client, metadata_of, open_client, running
from trio_kafka.clients.interceptors import InterceptorChain, split_interceptors
from trio_kafka.clients.producer.accumulator import Accumulator, BatchLimits
from trio_kafka.clients.producer.buffer_pool import BufferPool
from trio_kafka.clients.producer.delivery import Delivery
from trio_kafka.clients.producer.identify import identify
from trio_kafka.clients.producer.interceptors import (
    InterceptedProducer,
    ProducerInterceptor,
    RecordEnds,
)
from trio_kafka.clients.producer.metrics import ProducerMetrics
from trio_kafka.clients.producer.partitioner import PartitionChoice, Partitioner
from trio_kafka.clients.producer.preparation import RecordPreparation
from trio_kafka.clients.producer.producer import Producer
from trio_kafka.clients.producer.record import Serializer, as_bytes
from trio_kafka.clients.producer.sender import Sender
from trio_kafka.clients.producer.sequences import Identities
from trio_kafka.clients.producer.transactions.machine import TransactionMachine
from trio_kafka.clients.settings.load import producer_settings
from trio_kafka.clients.settings.producer import ProducerSettings
from trio_kafka.introspect.tree import Node
from trio_kafka.records.header import TRANSACTIONAL
from trio_kafka.world.real import RealWorld
from trio_kafka.world.world import World

if TYPE_CHECKING:
    from trio_kafka.clients.producer.transactions.transaction import Transactions

K = TypeVar("K")
V = TypeVar("V")


@overload
def open_producer(
    config: Mapping[str, object],
    *,
    partitioner: Partitioner | None = None,
    world: World | None = None,
    tree: Node | None = None,
) -> AbstractAsyncContextManager[Producer[bytes, bytes | None]]: ...


@overload
def open_producer(
    config: Mapping[str, object],
    *,
    key_serializer: Serializer[K],
    value_serializer: Serializer[V],
    partitioner: Partitioner | None = None,
    world: World | None = None,
    tree: Node | None = None,
) -> AbstractAsyncContextManager[Producer[K, V]]: ...


def open_producer(
    config: Mapping[str, object],
    *,
    key_serializer: Serializer[K] = as_bytes,
    value_serializer: Serializer[V] = as_bytes,
    partitioner: Partitioner | None = None,
    world: World | None = None,
    tree: Node | None = None,
) -> AbstractAsyncContextManager[Producer[K, V]]:
    """Open a producer for the duration of a block.

    config: settings by Kafka's names, as texts or values. world: None: this machine.
    key_serializer, value_serializer: return the bytes of keys and values that are not None.
    partitioner: None: Kafka's own. tree: node below which the producer is shown; None: it is not.
    The end of the block waits until all records are stored or have failed. An exception or a
    cancellation of the block fails the records that are not stored at once, with ClosedError.
    Raises ConfigError; warns with SettingWarning of settings without effect.
    """
    config, interceptors = split_interceptors(config, ProducerInterceptor)
    settings = producer_settings(config)
    preparation = RecordPreparation(
        key_serializer=key_serializer,
        value_serializer=value_serializer,
        largest=settings.max_request_size,
        memory=settings.buffer_memory,
    )
    surroundings = _Surroundings(
        world=world or RealWorld(), tree=tree, partitioner=partitioner, interceptors=interceptors
    )
    return _opened(settings, preparation, surroundings)


@frozen(kw_only=True)
class _Surroundings:
    """Arguments of a producer beside settings and serializers."""

    world: World
    tree: Node | None
    partitioner: Partitioner | None
    interceptors: Sequence[ProducerInterceptor[object, object]]


@asynccontextmanager
async def _opened(
    settings: ProducerSettings,
    preparation: RecordPreparation[K, V],
    surroundings: _Surroundings,
) -> AsyncIterator[Producer[K, V]]:
    world = surroundings.world
    if not settings.client_id:
        name = f"producer-{world.random.randrange(1 << 32):08x}"
        settings = attrs.evolve(settings, client_id=name)
    metadata = metadata_of(
        settings,
        world,
        idle_s=settings.metadata_max_idle_ms / 1000,
        creates_topics=True,
        limit=settings.max_in_flight_requests_per_connection,
        kind="producer",
    )
    labels = {}
    if settings.transactional_id is not None:
        labels["transactional_id"] = settings.transactional_id
    async with open_client(
        metadata, name=settings.client_id, tree=surroundings.tree, labels=labels
    ) as client:
        producer = _producer(client, settings, preparation, surroundings)
        client.node.add("sender", "part", producer.figures)
        tasks: dict[str, Callable[[], Awaitable[object]]] = {
            f"{settings.client_id}-sender": producer.sender.run
        }
        transactions = producer.transactions
        if transactions is None:
            tasks[f"{settings.client_id}-identity"] = partial(identify, producer.sender)
        else:
            tasks[f"{settings.client_id}-transactions"] = transactions.add_partitions
        async with running(tasks):
            try:
                if transactions is not None:
                    await transactions.identify()
                yield producer
                await producer.drain()
            finally:
                producer.is_closed = True
                producer.sender.delivery.fail_all()
                if isinstance(producer, InterceptedProducer):
                    producer.ends.chain.tell(lambda interceptor: interceptor.close())


def _producer(
    client: Client,
    settings: ProducerSettings,
    preparation: RecordPreparation[K, V],
    surroundings: _Surroundings,
) -> Producer[K, V]:
    machine = None
    if settings.transactional_id is not None:
        machine = TransactionMachine(
            transactional_id=settings.transactional_id, identities=Identities(is_local=False)
        )
    delivery = _delivery(settings, client.world.random, machine)
    metrics = ProducerMetrics(client.registry)
    metrics.read_accumulator(delivery.accumulator)
    sender = Sender(client=client, settings=settings, delivery=delivery, metrics=metrics)
    if machine is not None:
        sender.transactions = _transactions(sender, machine)
    adaptive = settings.partitioner_adaptive_partitioning_enable
    choice = PartitionChoice(
        by_user=surroundings.partitioner,
        ignores_keys=settings.partitioner_ignore_keys,
        size=settings.batch_size,
        random=client.world.random,
        queued=delivery.accumulator.queued if adaptive else None,
    )
    make: Callable[..., Producer[K, V]] = Producer
    if surroundings.interceptors:
        chain = InterceptorChain(surroundings.interceptors, metrics.interceptor_errors)
        ends = RecordEnds(chain=chain)
        delivery.accumulator.watchers.append(ends.note_end)
        make = partial(InterceptedProducer, ends=ends)
    return make(
        client=client,
        settings=settings,
        accumulator=delivery.accumulator,
        sender=sender,
        preparation=preparation,
        choice=choice,
        transactions=sender.transactions,
    )


def _transactions(sender: Sender, machine: TransactionMachine) -> "Transactions":
    from trio_kafka.clients.producer.transactions.coordinator import (  # noqa: PLC0415 - messages
        Coordinators,
    )
    from trio_kafka.clients.producer.transactions.transaction import (  # noqa: PLC0415 - as above
        Transactions,
    )

    client, settings = sender.client, sender.settings
    return Transactions(
        machine=machine,
        coordinators=Coordinators(
            client=client, settings=settings, transactional_id=machine.transactional_id
        ),
        delivery=sender.delivery,
        block_s=settings.max_block_ms / 1000,
        wake=sender.wake,
    )


def _delivery(
    settings: ProducerSettings, random: Random, machine: TransactionMachine | None
) -> Delivery:
    """Return the machines of a producer. machine: of its transactions, if it has any."""
    limits = BatchLimits(
        size=settings.batch_size,
        linger_s=settings.linger_ms / 1000,
        expires_s=settings.delivery_timeout_s,
        codec=settings.codec,
        level=settings.level,
        in_turn=settings.max_in_flight_requests_per_connection == 1,
        attributes=0 if machine is None else TRANSACTIONAL,
    )
    accumulator = Accumulator(
        limits=limits,
        pool=BufferPool(settings.buffer_memory),
        identities=Identities() if settings.is_idempotent else None,
    )
    delivery = Delivery(
        accumulator=accumulator,
        retries=settings.retries,
        backoff=settings.retry_backoff,
        chance=random.random,
    )
    if machine is not None:
        transactions = machine
        accumulator.identities = machine.identities
        accumulator.admits = machine.admits
        delivery.failed = machine.batch_failed
        delivery.gives_up = lambda: transactions.failure is not None
    return delivery
