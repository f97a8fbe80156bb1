"""Producer for tests: that of `trio_kafka.clients`, which notes what it does in a history."""

from contextlib import AsyncExitStack
from typing import TypeAlias

from attrs import field

from trio_kafka import clients
from trio_kafka.attributes import define
from trio_kafka.model import Endpoint
from trio_kafka.testing.checkers.history import History
from trio_kafka.world.world import World

BytesProducer: TypeAlias = clients.Producer[bytes, bytes | None]
BytesRecord: TypeAlias = clients.ProducerRecord[bytes, bytes | None]


@define(eq=False, kw_only=True)
class Producer:
    """Sends values and waits for their ends. It serves within its block.

    name: of its events in the history; also the client id.
    acks: -1, 1 or 0. idempotent: give batches sequence numbers, so that a repeated batch is
        appended once; needs acks=-1. Without it one request is in flight, to keep the order.
    retries: False: give a batch up after its first failure; not with idempotence.
    delivery_s: time for all attempts of a batch. request_s: for one.
    """

    world: World
    bootstrap: Endpoint
    name: str = "producer"
    acks: int = -1
    idempotent: bool = True
    retries: bool = True
    delivery_s: float = 120.0
    request_s: float = 5.0
    history: History = field(factory=History)
    _producer: BytesProducer | None = field(default=None, init=False)
    _stack: AsyncExitStack = field(factory=AsyncExitStack, init=False)

    async def __aenter__(self) -> "Producer":
        config: dict[str, object] = {
            "bootstrap.servers": str(self.bootstrap),
            "client.id": self.name,
            "acks": str(self.acks),
            "enable.idempotence": self.idempotent,
            "linger.ms": 0,
            "max.block.ms": round(self.delivery_s * 1000),
            "delivery.timeout.ms": round(self.delivery_s * 1000),
            "request.timeout.ms": round(self.request_s * 1000),
        }
        if not self.idempotent:
            config["max.in.flight.requests.per.connection"] = 1
        if not self.retries:
            config["retries"] = 0
        opening = clients.open_producer(config, world=self.world)
        self._producer = await self._stack.enter_async_context(opening)
        return self

    async def __aexit__(self, *failure: object) -> None:
        self._producer = None
        await self._stack.aclose()

    async def send(
        self, topic: str, *values: bytes, partition: int = 0, key: bytes | None = None
    ) -> int:
        """Send values as one batch and return the offset of the first one; -1 if it is not known.

        Several tasks may send. Raises ClientError; `sent` says whether a value may be stored.
        """
        if not values:
            raise ValueError("no values: a batch needs at least one")
        if self._producer is None:
            raise ValueError("the producer is not open: want `async with`")
        receipts = []
        for value in values:
            record: BytesRecord
            record = clients.ProducerRecord(topic, value, partition=partition, key=key)
            receipts.append(await self._producer.send(record))
            # Queued, and not sent before this task waits: the order of the queue is the promise.
            self.history.sent(
                self.name, topic, value, partition=partition, idempotent=self.idempotent
            )
        places = [await receipt for receipt in receipts]
        if self.acks != 0:
            for value, place in zip(values, places, strict=True):
                self.history.acknowledged(self.name, topic, partition, value, offset=place.offset)
        return places[0].offset
