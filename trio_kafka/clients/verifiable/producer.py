"""Verifiable producer: sends numbers, and says of each whether it is stored.

Events: startup_complete, producer_send_success, producer_send_error, shutdown_complete, tool_data.
Options and events are those of Kafka's VerifiableProducer; without retries unless the file of
settings asks for them. SIGTERM ends it in order.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.errors import ClientError
from trio_kafka.clients.producer.opening import open_producer
from trio_kafka.clients.producer.producer import Producer
from trio_kafka.clients.producer.receipt import Receipt
from trio_kafka.clients.producer.record import ProducerRecord
from trio_kafka.clients.verifiable.program import (
    Events,
    file_settings,
    merged,
    run,
    until_signal,
)

Bytes = Producer[bytes, bytes | None]


def parser() -> ArgumentParser:
    """Return the options, those of Kafka's program."""
    options = ArgumentParser("verifiable-producer")
    options.add_argument("--topic", required=True)
    options.add_argument("--bootstrap-server", required=True)
    options.add_argument("--max-messages", type=int, default=-1)
    options.add_argument("--throughput", type=int, default=-1)
    options.add_argument("--acks", type=int, choices=(0, 1, -1), default=-1)
    options.add_argument("--producer.config", "--command-config", dest="file")
    options.add_argument("--message-create-time", type=int, default=-1)
    options.add_argument("--value-prefix", type=int)
    options.add_argument("--repeating-keys", type=int)
    return options


@define(eq=False)
class VerifiableProducer:
    """One run. sent, acknowledged: numbers of records."""

    events: Events
    options: Namespace
    sent: int = field(default=0, init=False)
    acknowledged: int = field(default=0, init=False)

    async def run(self) -> None:
        """Send until all are sent or a signal comes; then wait for the ends of all records."""
        options = self.options
        settings = merged(
            {"retries": "0", **file_settings(options.file)},
            {"bootstrap.servers": options.bootstrap_server, "acks": str(options.acks)},
        )
        begin = trio.current_time()
        async with (
            until_signal() as signalled,
            trio.open_nursery() as nursery,
            open_producer(settings) as producer,
        ):
            self.events.write("startup_complete")
            with signalled:
                await self._send_all(producer, nursery)
        self.events.write("shutdown_complete")
        seconds = max(trio.current_time() - begin, 0.001)
        self.events.write(
            "tool_data",
            sent=self.sent,
            acked=self.acknowledged,
            target_throughput=options.throughput,
            avg_throughput=self.acknowledged / seconds,
        )

    async def _send_all(self, producer: Bytes, nursery: trio.Nursery) -> None:
        begin, most = trio.current_time(), self.options.max_messages
        while most < 0 or self.sent < most:
            await self._send(producer, nursery)
            if self.options.throughput > 0:
                await trio.sleep_until(begin + self.sent / self.options.throughput)

    async def _send(self, producer: Bytes, nursery: trio.Nursery) -> None:
        options, number = self.options, self.sent
        prefix, keys = options.value_prefix, options.repeating_keys
        value = f"{number}" if prefix is None else f"{prefix}.{number}"
        key = None if keys is None else f"{number % keys}"
        time_ms = None if options.message_create_time < 0 else options.message_create_time + number
        record: ProducerRecord[bytes, bytes | None] = ProducerRecord(
            options.topic,
            value.encode(),
            key=None if key is None else key.encode(),
            timestamp_ms=time_ms,
        )
        try:
            receipt = await producer.send(record)
        except ClientError as error:
            self._failed(key, value, error)
        else:
            nursery.start_soon(self._report, key, value, receipt)
        self.sent += 1

    async def _report(self, key: str | None, value: str, receipt: Receipt) -> None:
        try:
            place = await receipt
        except ClientError as error:
            self._failed(key, value, error)
            return
        self.acknowledged += 1
        self.events.write(
            "producer_send_success",
            key=key,
            value=value,
            topic=place.topic,
            partition=place.partition,
            offset=place.offset,
        )

    def _failed(self, key: str | None, value: str, error: ClientError) -> None:
        self.events.write(
            "producer_send_error",
            key=key,
            value=value,
            topic=self.options.topic,
            exception=f"class {type(error).__module__}.{type(error).__qualname__}",
            message=str(error),
        )


async def main(events: Events, arguments: Sequence[str]) -> None:
    """Run a verifiable producer."""
    await VerifiableProducer(events, parser().parse_args(arguments)).run()


if __name__ == "__main__":
    run(main)
