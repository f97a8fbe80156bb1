"""Sender: the task that sends batches, and takes their answers.

It sleeps until a batch is due, a connection or the metadata have changed, or the time of a batch is
over. A request goes only to a broker that takes it at once: until then its batches stay in the
accumulator, where they may grow. Answers are taken in the task that receives them.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, NoReturn

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.client import Client
from trio_kafka.clients.errors import ClientError
from trio_kafka.clients.links.calls import Call
from trio_kafka.clients.producer.accumulator import Accumulator
from trio_kafka.clients.producer.batch import ProducerBatch
from trio_kafka.clients.producer.delivery import Delivery
from trio_kafka.clients.producer.metrics import ProducerMetrics
from trio_kafka.clients.producer.requests import (
    NO_ANSWER,
    ProduceAnswer,
    ProduceAttempt,
    addresses,
    produce_attempt,
)
from trio_kafka.clients.settings.producer import ProducerSettings
from trio_kafka.model import ZERO_TOPIC_ID, TopicPartition
from trio_kafka.protocol.messages.k00_produce import ProduceResponse
from trio_kafka.records.compression import Codec

if TYPE_CHECKING:  # most producers have no transactions
    from trio_kafka.clients.producer.transactions.transaction import Transactions

# Compressing more takes longer than a turn of the loop may.
_IN_THREAD: Final = 128 << 10
_NEVER: Final = float("inf")


@define(eq=False, kw_only=True)
class Sender:
    """Sends what the accumulator has. `run` is its task.

    wants_identity: set when a producer id must be asked for. sleeps_until: time of the next look.
    """

    client: Client
    settings: ProducerSettings
    delivery: Delivery
    metrics: ProducerMetrics
    transactions: "Transactions | None" = None
    wants_identity: trio.Event = field(factory=trio.Event, init=False)
    sleeps_until: float = field(default=_NEVER, init=False)
    _wake: trio.Event = field(factory=trio.Event, init=False)
    _linger_s: float = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._linger_s = self.settings.linger_ms / 1000
        self.client.links.watchers.append(self.wake)
        self.client.metadata.watchers.append(self.wake)

    @property
    def accumulator(self) -> Accumulator:
        return self.delivery.accumulator

    def wake(self) -> None:
        """Look for batches to send."""
        self._wake.set()

    def note_added(self, batch: ProducerBatch, now: float, *, is_new: bool) -> None:
        """Look again if a batch that has got records is due before the next look."""
        if batch.is_full or (is_new and now + self._linger_s < self.sleeps_until):
            self._wake.set()

    async def run(self) -> NoReturn:
        """Send batches until cancelled."""
        while True:
            self._wake = trio.Event()
            now = trio.current_time()
            self.delivery.expire(now, self._failure())
            self.sleeps_until = await self._send_ready(now)
            if self.transactions is not None:  # the look at the batches names partitions to add
                self.transactions.look()
            with trio.move_on_at(self.sleeps_until):
                await self._wake.wait()

    async def _send_ready(self, now: float) -> float:
        """Send what is ready; return the time of the next look."""
        identities = self.accumulator.identities
        if self.accumulator.is_active and identities is not None and identities.current is None:
            self.wants_identity.set()
        ready = self.accumulator.look(now, self._leader_of)
        if ready.leaderless:
            self.client.metadata.request_refresh()
        for node, queues in ready.by_node.items():
            link = self.client.links[node]
            if not link.has_room:
                if not link.is_connected:
                    link.connect_soon()
                continue  # the link wakes this task
            batches = self.accumulator.drain(queues, self.settings.max_request_size)
            if batches:
                await self._send(node, batches)
                self.wake()  # the next batches of these partitions may be due, too
        return ready.next_look

    async def _send(self, node: int, batches: Sequence[ProducerBatch]) -> None:
        try:
            await self._encode(batches)
        except BaseException:
            for batch in batches:
                self.accumulator.landed(batch)
            raise
        # A batch may have failed meanwhile: its time was over, or the producer was closed.
        open_batches = [batch for batch in batches if batch.outcome is None]
        for batch in batches:
            if batch.outcome is not None:
                self.accumulator.landed(batch)
        if not open_batches:
            return
        acks = self.settings.acks_number
        attempt = produce_attempt(
            open_batches,
            self._id_of,
            acks=acks,
            timeout_ms=self.settings.request_timeout_ms,
            transactional_id=self.settings.transactional_id,
        )
        newest = None if self.transactions is None else self.transactions.newest_produce
        now = trio.current_time()
        self.metrics.note_request(open_batches, now)
        self.client.links[node].submit(
            Call(
                request=attempt.request,
                done=partial(self._answered, node, attempt, now),
                timeout_s=self.settings.request_timeout_s,
                at_most=_lower(attempt.at_most, newest),
                is_answered=acks != 0,
            )
        )

    async def _encode(self, batches: Sequence[ProducerBatch]) -> None:
        codec = self.accumulator.limits.codec
        for batch in batches:
            if codec is not Codec.NONE and batch.size > _IN_THREAD and batch.data is None:
                await self.client.world.run_in_thread(self.accumulator.close_batch, batch)
            else:
                self.accumulator.close_batch(batch)

    def _answered(self, node: int, attempt: ProduceAttempt, sent: float, result: object) -> None:
        """Take the end of a request, in the task that has received it. sent: time of it."""
        now = trio.current_time()
        broker = self.client.links[node].place.broker
        delivery, metadata = self.delivery, self.client.metadata
        refreshes = isinstance(result, ClientError)
        answers: dict[TopicPartition, ProduceAnswer] = {}
        if isinstance(result, ProduceResponse):
            answers = attempt.answers(result)
            self.metrics.latency.record((now - sent) * 1000)
            self.metrics.throttle.record(result.throttle_time_ms)
        for batch in attempt.batches:
            if isinstance(result, ClientError):
                delivery.lost(batch, result, now)
            elif isinstance(result, ProduceResponse):
                answer = answers.get(batch.place, NO_ANSWER)
                self._take_hint(batch, answer, result)
                refreshes |= delivery.answered(batch, answer, now, broker=broker)
            else:  # with acks=0 there is no response
                delivery.unanswered(batch)
        if refreshes:
            metadata.request_refresh()
        self.wake()

    def _take_hint(
        self, batch: ProducerBatch, answer: ProduceAnswer, response: ProduceResponse
    ) -> None:
        if answer.leader.node >= 0:
            self.client.metadata.take_hint(
                batch.place.topic,
                batch.place.partition,
                answer.leader,
                brokers=addresses(response),
            )

    def _failure(self) -> ClientError | None:
        """Return why the metadata could not be refreshed, if so."""
        return self.client.metadata.last_failure

    def _leader_of(self, topic: str, partition: int) -> int | None:
        leader = self.client.metadata.cache.leader(topic, partition)
        return None if leader is None else leader.node

    def _id_of(self, topic: str) -> bytes:
        metadata = self.client.metadata.cache.topics.get(topic)
        return ZERO_TOPIC_ID if metadata is None else metadata.topic_id


def _lower(first: int | None, second: int | None) -> int | None:
    """Return the lower of two versions; None: any."""
    versions = [version for version in (first, second) if version is not None]
    return min(versions, default=None)
