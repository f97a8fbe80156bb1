"""`trio-kafka txn find-hanging`: transactions that no coordinator ends.

Source: TransactionsCommand.FindHangingTransactionsCommand of Apache Kafka 4.4.0; KIP-664.
"""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.output import LEFT, RIGHT, columns, declare_json, print_answer
from trio_kafka.cli.txn.partition_producers import (
    PartitionProducer,
    has_partition,
    number_or,
    owners_of,
    partitions_of,
    read_producers,
)
from trio_kafka.cli.txn.producers import (
    checked_partition,
    declare_partition,
    producer_data,
)
from trio_kafka.cli.txn.remedies import TIMEOUT_S, now_ms, open_transactions_client
from trio_kafka.clients.blocking import BlockingAdmin
from trio_kafka.model import TopicPartition

DEFAULT_MINUTES: Final = 15  # the default of transaction.max.timeout.ms
_MS: Final = 60_000
_HEAD: Final = (
    "topic",
    "partition",
    "producer id",
    "epoch",
    "coordinator epoch",
    "start offset",
    "silent min",
)


def declare(parser: ArgumentParser) -> None:
    declare_partition(parser, required=False)
    parser.add_argument(
        "--max-transaction-timeout",
        type=float,
        default=DEFAULT_MINUTES,
        metavar="MINUTES",
        help="only transactions whose producer is silent for longer (%(default)g)",
    )
    declare_broker(parser, TIMEOUT_S)
    declare_json(parser, "one JSON object: `hanging`, as `producers` of `txn producers`")


def find_hanging(
    *,
    topic: str | None,
    partition: int | None,
    max_transaction_timeout: float,
    bootstrap: str,
    json: bool,
    timeout: float,
) -> int:
    """Find transactions that are open in a partition, and that no coordinator knows: readers with
    read_committed wait behind them for ever. End one with `trio-kafka txn abort`.

    Ends with 1 if there is one.
    """
    if topic is None and partition is not None:
        raise CommandFailedError("--partition without --topic: give both, or --topic alone")
    with open_transactions_client(bootstrap, timeout) as admin:
        if topic is not None and partition is not None:
            partitions = [TopicPartition(topic, checked_partition(partition))]
        else:
            partitions = partitions_of(admin, [] if topic is None else [topic])
        before_ms = now_ms() - max_transaction_timeout * _MS
        candidates = [
            producer
            for producer in read_producers(admin, partitions)
            if producer.has_open_transaction and producer.state.last_timestamp <= before_ms
        ]
        hanging = hanging_of(admin, candidates)
    print_answer(hanging, as_data, partial(as_text, at_ms=now_ms()), json=json)
    return FAILED if hanging else 0


def hanging_of(
    admin: BlockingAdmin, candidates: Sequence[PartitionProducer]
) -> list[PartitionProducer]:
    """Return the open transactions that are in no transaction of a coordinator."""
    owners = owners_of(admin, (producer.state.producer_id for producer in candidates))
    return [
        producer
        for producer in candidates
        if not has_partition(owners.get(producer.state.producer_id), producer)
    ]


def as_data(hanging: Sequence[PartitionProducer]) -> dict[str, object]:
    """Return the transactions for JSON."""
    return {"hanging": [producer_data(producer) for producer in hanging]}


def as_text(hanging: Sequence[PartitionProducer], at_ms: int) -> Iterator[str]:
    """Yield the lines of a table, and of the commands that end the transactions."""
    if not hanging:
        yield "no transaction hangs"
        return
    rows = [
        [
            producer.at.topic,
            str(producer.at.partition),
            str(producer.state.producer_id),
            str(producer.state.producer_epoch),
            str(number_or(producer.state.coordinator_epoch)),
            str(producer.start_offset),
            f"{max(at_ms - producer.state.last_timestamp, 0) / _MS:.1f}",
        ]
        for producer in hanging
    ]
    yield from columns(_HEAD, rows, [LEFT, *([RIGHT] * (len(_HEAD) - 1))])
    yield (
        "End one with: trio-kafka txn abort --topic TOPIC --partition NUMBER --start-offset OFFSET"
    )
