"""Transactional copier: copies a partition or a topic to another topic, each record exactly once.

A transaction has the records of one poll, and commits the offsets with them. Options and the lines
of its status are those of Kafka's TransactionalMessageCopier. It ends when it has copied what was
there when it began, by SIGTERM, or with status 1 if another copier has its transactional id.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Sequence
from datetime import UTC, datetime

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.consumer.consumer import Consumer
from trio_kafka.clients.consumer.groups.listener import RebalanceListener
from trio_kafka.clients.consumer.opening import open_consumer
from trio_kafka.clients.consumer.values import ConsumerRecord
from trio_kafka.clients.errors import AbortableError, ClientError, FatalError
from trio_kafka.clients.group_metadata import GroupMetadata
from trio_kafka.clients.producer.opening import open_producer
from trio_kafka.clients.producer.producer import Producer
from trio_kafka.clients.producer.record import ProducerRecord
from trio_kafka.clients.verifiable.program import Events, run, until_signal
from trio_kafka.errors import leaves
from trio_kafka.model import TopicPartition

Bytes = bytes | None
_POLL_S = 0.2
_ONE_IN = 3  # transactions are aborted at random


class RandomAbortError(Exception):
    """A transaction that is aborted to test the test."""


def parser() -> ArgumentParser:
    """Return the options, those of Kafka's program."""
    options = ArgumentParser("transactional-message-copier")
    options.add_argument("--broker-list", required=True)
    options.add_argument("--input-topic", required=True)
    options.add_argument("--input-partition", type=int, required=True)
    options.add_argument("--output-topic", required=True)
    options.add_argument("--consumer-group", default="-1")
    options.add_argument("--transactional-id", required=True)
    options.add_argument("--max-messages", type=int, default=-1)
    options.add_argument("--transaction-size", type=int, default=200)
    options.add_argument("--transaction-timeout", type=int, default=60_000)
    options.add_argument("--enable-random-aborts", action="store_true")
    options.add_argument("--group-mode", action="store_true")
    options.add_argument("--use-group-metadata", action="store_true")
    return options


def producer_settings_of(options: Namespace) -> dict[str, object]:
    """Return the settings of the producer: small batches, so that several are in flight."""
    return {
        "bootstrap.servers": options.broker_list,
        "transactional.id": options.transactional_id,
        "transaction.timeout.ms": options.transaction_timeout,
        "batch.size": 512,
        "max.in.flight.requests.per.connection": 5,
    }


def consumer_settings_of(options: Namespace) -> dict[str, object]:
    """Return the settings of the consumer."""
    return {
        "bootstrap.servers": options.broker_list,
        "group.id": options.consumer_group,
        "isolation.level": "read_committed",
        "max.poll.records": options.transaction_size,
        "enable.auto.commit": False,
        "session.timeout.ms": 10_000,
        "max.poll.interval.ms": 180_000,
        "heartbeat.interval.ms": 3000,
        "auto.offset.reset": "earliest",
    }


@define(eq=False)
class Copier:
    """One run. remaining: records to copy. total: copied. copied: since the last rebalance."""

    events: Events
    options: Namespace
    producer: Producer[bytes, Bytes]
    consumer: Consumer[Bytes, Bytes]
    remaining: float = field(default=float("inf"), init=False)
    total: int = field(default=0, init=False)
    copied: int = field(default=0, init=False)

    async def run(self, signalled: trio.CancelScope) -> None:
        """Copy until all is copied, or a signal comes. Raises FatalError."""
        options = self.options
        most = float("inf") if options.max_messages < 0 else options.max_messages
        with signalled:
            if options.group_mode:
                listener = RebalanceListener(on_assigned=self._assigned)
                self.consumer.subscribe([options.input_topic], listener=listener)
                self.remaining = most
            else:
                place = TopicPartition(options.input_topic, options.input_partition)
                self.consumer.assign([place])
                self.remaining = min(await self._behind([place]), most)
            while self.remaining > 0:
                self.tell("ProcessLoop")
                records = await self.consumer.poll(_POLL_S)
                if records:
                    await self._copy(records)

    def tell(self, stage: str) -> None:
        """Write a line of status."""
        now = datetime.fromtimestamp(self.events.world.clock.wall(), UTC)
        self.events.write_line(
            {
                "transactionalId": self.options.transactional_id,
                "stage": stage,
                "time": f"{now:%Y/%m/%d %H:%M:%S:%f}"[:-3],
                "totalProcessed": self.total,
                "consumed": self.copied,
                "remaining": -1 if self.remaining == float("inf") else self.remaining,
            }
        )

    async def _assigned(self, partitions: Collection[TopicPartition]) -> None:
        self.remaining, self.copied = await self._behind(partitions), 0
        self.tell("RebalanceComplete")

    async def _behind(self, partitions: Collection[TopicPartition]) -> int:
        """Return how many records of partitions are not read yet."""
        ends = await self.consumer.end_offsets(partitions)
        positions = [await self.consumer.position(at) for at in partitions]
        return sum(ends[at] for at in partitions) - sum(positions)

    async def _copy(self, records: Sequence[ConsumerRecord[Bytes, Bytes]]) -> None:
        """Copy records in a transaction, or go back behind those of the last one."""
        options = self.options
        try:
            async with self.producer.transaction() as transaction:
                for record in records:
                    await self.producer.send(
                        ProducerRecord(
                            options.output_topic,
                            record.value,
                            key=record.key,
                            partition=record.partition,
                        )
                    )
                group = GroupMetadata(group_id=options.consumer_group)
                if options.use_group_metadata:
                    group = self.consumer.group_metadata()
                offsets = {at: await self.consumer.position(at) for at in self.consumer.assignment}
                await transaction.send_offsets(offsets, group)
                aborts = self.events.world.random.randrange(_ONE_IN) == 0
                if options.enable_random_aborts and aborts:
                    raise RandomAbortError
        except FatalError:
            raise
        except (RandomAbortError, AbortableError):
            await self._go_back()
        except ClientError as error:
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            await self._end_unknown()
            await self._go_back()
        else:
            self.remaining -= len(records)
            self.copied += len(records)
            self.total += len(records)

    async def _end_unknown(self) -> None:
        """End a transaction of which it is not known whether it is committed: by a new epoch.

        Its offsets are not stable before, and so cannot be asked for.
        """
        while True:
            try:
                async with self.producer.transaction():
                    return
            except FatalError:
                raise
            except ClientError as error:
                sys.stderr.write(f"{type(error).__name__}: {error}\n")

    async def _go_back(self) -> None:
        """Continue at the committed offsets."""
        committed = await self.consumer.committed(sorted(self.consumer.assignment))
        for at, offset in committed.items():
            if offset is None:
                self.consumer.seek_to_beginning([at])
            else:
                self.consumer.seek(at, offset)


async def main(events: Events, arguments: Sequence[str]) -> None:
    """Run a copier."""
    options = parser().parse_args(arguments)
    try:
        async with (
            until_signal() as signalled,
            open_producer(producer_settings_of(options)) as producer,
            open_consumer(consumer_settings_of(options)) as consumer,
        ):
            copier = Copier(events, options, producer, consumer)
            await copier.run(signalled)
            copier.tell("ShutdownComplete")
    except* ClientError as group:
        sys.stderr.write(f"Shutting down after unexpected error {leaves(group)[0]}\n")
        sys.exit(1)


if __name__ == "__main__":
    run(main)
