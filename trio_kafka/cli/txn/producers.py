"""`trio-kafka txn producers`: the producers that partitions know, with their open transactions."""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from typing import Final

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.output import LEFT, RIGHT, columns, declare_json, print_answer
from trio_kafka.cli.txn.partition_producers import (
    PartitionProducer,
    number_or,
    partitions_of,
    read_producers,
)
from trio_kafka.cli.txn.remedies import TIMEOUT_S, open_transactions_client
from trio_kafka.model import TopicPartition

_HEAD: Final = (
    "topic",
    "partition",
    "producer id",
    "epoch",
    "coordinator epoch",
    "last sequence",
    "last timestamp",
    "open since offset",
)


def declare_partition(parser: ArgumentParser, *, required: bool) -> None:
    """Declare the options that name a partition."""
    parser.add_argument("--topic", required=required, help="the topic")
    parser.add_argument(
        "--partition",
        type=int,
        required=False,
        metavar="NUMBER",
        help="the partition (default: all of the topic)",
    )


def declare(parser: ArgumentParser) -> None:
    declare_partition(parser, required=True)
    parser.add_argument(
        "--open", action="store_true", dest="only_open", help="only those with an open transaction"
    )
    declare_broker(parser, TIMEOUT_S)
    declare_json(parser, "one JSON object: `producers`; -1 where there is no value")


def list_producers(
    *,
    topic: str,
    partition: int | None,
    only_open: bool,
    bootstrap: str,
    json: bool,
    timeout: float,
) -> int:
    """Show the producers of a topic's partitions: epoch, sequence, and the first offset of the
    transaction that is open.
    """
    with open_transactions_client(bootstrap, timeout) as admin:
        if partition is None:
            partitions = partitions_of(admin, [topic])
        else:
            partitions = [TopicPartition(topic, checked_partition(partition))]
        producers = [
            producer
            for producer in read_producers(admin, partitions)
            if producer.has_open_transaction or not only_open
        ]
    return print_answer(producers, as_data, as_text, json=json)


def checked_partition(number: int) -> int:
    """Return the number of a partition. Raises CommandFailedError if it is negative."""
    if number < 0:
        raise CommandFailedError(f"--partition {number}: give a number from 0")
    return number


def as_data(producers: Sequence[PartitionProducer]) -> dict[str, object]:
    """Return the producers for JSON."""
    return {"producers": [producer_data(producer) for producer in producers]}


def producer_data(producer: PartitionProducer) -> dict[str, object]:
    """Return one producer for JSON."""
    state = producer.state
    return {
        "topic": producer.at.topic,
        "partition": producer.at.partition,
        "producer_id": state.producer_id,
        "producer_epoch": state.producer_epoch,
        "coordinator_epoch": number_or(state.coordinator_epoch),
        "last_sequence": state.last_sequence,
        "last_timestamp_ms": state.last_timestamp,
        "start_offset": producer.start_offset,
    }


def as_text(producers: Sequence[PartitionProducer]) -> Iterator[str]:
    """Yield the lines of a table."""
    rows = [
        [
            producer.at.topic,
            *(
                _cell(number)
                for number in (
                    producer.at.partition,
                    producer.state.producer_id,
                    producer.state.producer_epoch,
                    producer.state.coordinator_epoch,
                    producer.state.last_sequence,
                    producer.state.last_timestamp,
                    producer.start_offset,
                )
            ),
        ]
        for producer in producers
    ]
    yield from columns(_HEAD, rows, [LEFT, *([RIGHT] * (len(_HEAD) - 1))])


def _cell(number: int | None) -> str:
    return "-" if number is None or number < 0 else str(number)
