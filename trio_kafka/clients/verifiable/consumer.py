"""Verifiable consumer: a member of a group that says what it is assigned, reads and commits.

Events: startup_complete, partitions_assigned, partitions_revoked, records_consumed, record_data,
offsets_committed, shutdown_complete. Options and events are those of Kafka's VerifiableConsumer.
SIGTERM ends it in order: it commits, says which partitions it gives up, and leaves its group.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Mapping, Sequence

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.consumer.consumer import Consumer
from trio_kafka.clients.consumer.groups.listener import RebalanceListener
from trio_kafka.clients.consumer.opening import open_consumer
from trio_kafka.clients.consumer.values import ConsumerRecord, OffsetAndMetadata
from trio_kafka.clients.errors import ClientError
from trio_kafka.clients.verifiable.program import (
    Events,
    file_settings,
    merged,
    run,
    until_signal,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition

Bytes = bytes | None
Records = list[ConsumerRecord[Bytes, Bytes]]
Offsets = Mapping[TopicPartition, OffsetAndMetadata]
_CONSUMER = "consumer"


def parser() -> ArgumentParser:
    """Return the options, those of Kafka's program."""
    options = ArgumentParser("verifiable-consumer")
    options.add_argument("--bootstrap-server", required=True)
    options.add_argument("--topic", required=True)
    options.add_argument("--group-id", required=True)
    options.add_argument("--group-protocol", default="classic")
    options.add_argument("--group-remote-assignor")
    options.add_argument("--group-instance-id")
    options.add_argument("--max-messages", type=int, default=-1)
    options.add_argument("--session-timeout", type=int, default=30_000)
    options.add_argument("--verbose", action="store_true")
    options.add_argument("--enable-autocommit", action="store_true")
    options.add_argument("--reset-policy", default="earliest")
    strategy = "org.apache.kafka.clients.consumer.RangeAssignor"
    options.add_argument("--assignment-strategy", default=strategy)
    options.add_argument("--consumer.config", "--command-config", dest="file")
    return options


def settings_of(options: Namespace) -> dict[str, object]:
    """Return the settings of the consumer; each protocol has some of its own."""
    is_new = options.group_protocol.lower() == _CONSUMER
    own: dict[str, object] = (
        {
            "group.protocol": options.group_protocol,
            "group.remote.assignor": options.group_remote_assignor,
        }
        if is_new
        else {
            "partition.assignment.strategy": options.assignment_strategy,
            "session.timeout.ms": options.session_timeout,
        }
    )
    shared = {
        "group.id": options.group_id,
        "group.instance.id": options.group_instance_id,
        "bootstrap.servers": options.bootstrap_server,
        "enable.auto.commit": options.enable_autocommit,
        "auto.offset.reset": options.reset_policy,
    }
    return merged(file_settings(options.file), {**own, **shared})


@define(eq=False)
class VerifiableConsumer:
    """One run. count: of records that were read."""

    events: Events
    options: Namespace
    count: int = field(default=0, init=False)

    async def run(self) -> None:
        """Read until there were enough records, an error ends it, or a signal comes."""
        listener = RebalanceListener(
            on_assigned=self._assigned, on_revoked=self._revoked, on_lost=self._revoked
        )
        async with until_signal() as signalled, open_consumer(settings_of(self.options)) as reader:
            self.events.write("startup_complete")
            reader.subscribe([self.options.topic], listener=listener)
            try:
                await self._read(reader, signalled)
            except ClientError as error:  # ends it, as it ends Kafka's program
                sys.stderr.write(f"{type(error).__name__}: {error}\n")
        self.events.write("shutdown_complete")

    async def _read(self, consumer: Consumer[Bytes, Bytes], signalled: trio.CancelScope) -> None:
        most = self.options.max_messages
        with signalled:  # what a cancelled poll has not returned, it has not read
            while most < 0 or self.count < most:
                records = await consumer.poll(float("inf"))
                # What was read is committed; the commit has a deadline of its own.
                with trio.CancelScope(shield=True):
                    offsets = self._consumed(records, most)
                    if not self.options.enable_autocommit:
                        await self._commit(consumer, offsets)

    def _consumed(self, records: Records, most: int) -> Offsets:
        """Write what was read; return the offsets to commit."""
        by_place: dict[TopicPartition, Records] = {}
        for record in records:
            by_place.setdefault(TopicPartition(record.topic, record.partition), []).append(record)
        offsets, rows = {}, []
        for at, read in by_place.items():
            taken = read if most < 0 else read[: most - self.count]
            if not taken:
                break
            first, last = taken[0].offset, taken[-1].offset
            offsets[at] = OffsetAndMetadata(last + 1)
            self.count += len(taken)
            rows.append({**_place(at), "count": len(taken), "minOffset": first, "maxOffset": last})
            if self.options.verbose:
                for record in taken:
                    self._show(record)
        self.events.write("records_consumed", count=len(records), partitions=rows)
        return offsets

    def _show(self, record: ConsumerRecord[Bytes, Bytes]) -> None:
        self.events.write(
            "record_data",
            key=None if record.key is None else record.key.decode(errors="replace"),
            value=None if record.value is None else record.value.decode(errors="replace"),
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
        )

    async def _commit(self, consumer: Consumer[Bytes, Bytes], offsets: Offsets) -> None:
        """Commit, and write how that ended. Raises ClientError if the member is fenced."""
        failure: str | None = None
        try:
            await consumer.commit(offsets)
        except ClientError as error:
            if error.code is ErrorCode.FENCED_INSTANCE_ID:
                raise
            failure = str(error)
        rows = [{**_place(at), "offset": offset.offset} for at, offset in offsets.items()]
        self.events.write("offsets_committed", offsets=rows, error=failure, success=not failure)

    async def _assigned(self, partitions: Collection[TopicPartition]) -> None:
        await trio.lowlevel.checkpoint()
        self.events.write("partitions_assigned", partitions=[_place(at) for at in partitions])

    async def _revoked(self, partitions: Collection[TopicPartition]) -> None:
        await trio.lowlevel.checkpoint()
        self.events.write("partitions_revoked", partitions=[_place(at) for at in partitions])


def _place(at: TopicPartition) -> dict[str, object]:
    return {"topic": at.topic, "partition": at.partition}


async def main(events: Events, arguments: Sequence[str]) -> None:
    """Run a verifiable consumer."""
    await VerifiableConsumer(events, parser().parse_args(arguments)).run()


if __name__ == "__main__":
    run(main)
