"""`trio-kafka txn abort`: end an open transaction.

A hanging one, which no coordinator knows, is ended in its partition by a marker. One of a
transactional id is ended by its coordinator, which fences the producer, as Kafka's
`kafka-transactions.sh forceTerminateTransaction` does.
Source: AbortTransactionHandler, FenceProducersHandler of Apache Kafka 4.4.0; KIP-664.
"""

from argparse import ArgumentParser
from typing import Final, TypedDict, Unpack

from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.output import declare_json, print_json
from trio_kafka.cli.txn.describe import describe_ids, partitions_by_topic
from trio_kafka.cli.txn.find_hanging import hanging_of
from trio_kafka.cli.txn.partition_producers import PartitionProducer, read_producers
from trio_kafka.cli.txn.producers import checked_partition, declare_partition, producer_data
from trio_kafka.cli.txn.remedies import TIMEOUT_S, open_transactions_client, refusal
from trio_kafka.clients.admin.producers import AbortTransactionSpec
from trio_kafka.clients.blocking import BlockingAdmin
from trio_kafka.clients.errors import ClientError
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.texts import printable

_OPEN: Final = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort"})
USAGE: Final = (
    "give --transactional-id ID, or --topic, --partition and --start-offset of a transaction that"
    " `trio-kafka txn find-hanging` shows"
)


class TransactionPlace(TypedDict):
    """Options that say where a hanging transaction begins: all of them, or None in each."""

    topic: str | None
    partition: int | None
    start_offset: int | None


def declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--transactional-id", metavar="ID", help="have its coordinator abort its transaction"
    )
    declare_partition(parser, required=False)
    parser.add_argument(
        "--start-offset",
        type=int,
        metavar="OFFSET",
        help="first offset of the hanging transaction in the partition",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="write the marker though a coordinator knows the transaction and will end it itself",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be done, and do nothing"
    )
    declare_broker(parser, TIMEOUT_S)
    declare_json(parser, "one JSON object: the transaction, and `aborted` (false with --dry-run)")


def abort(
    *,
    transactional_id: str | None,
    force: bool,
    dry_run: bool,
    bootstrap: str,
    json: bool,
    timeout: float,
    **place: Unpack[TransactionPlace],
) -> int:
    """Abort a transaction: a hanging one in its partition, or that of a transactional id, whose
    producer is fenced then.

    Needs ALTER on the cluster, or WRITE on the transactional id.
    """
    is_placed = any(option is not None for option in place.values())
    if (transactional_id is not None) is is_placed:
        raise CommandFailedError(USAGE)
    with open_transactions_client(bootstrap, timeout) as admin:
        if transactional_id is not None:
            data, words = _plan_fence(admin, transactional_id)
        else:
            producer = _producer_at(admin, **place)
            if not force and not hanging_of(admin, [producer]):
                raise CommandFailedError(
                    f"the transaction at offset {producer.start_offset} of"
                    f" {producer.at} does not hang: its coordinator ends"
                    " it; give --transactional-id, or --force",
                    FAILED,
                )
            data, words = _plan_marker(producer)
        _say(("would abort " if dry_run else "aborting ") + words, json=json)
        if not dry_run and transactional_id is not None:
            _fence(admin, transactional_id)
        elif not dry_run:
            _write_marker(admin, producer)
    if json:
        print_json({**data, "aborted": not dry_run})
    else:
        _say("nothing was changed" if dry_run else "aborted", json=json)
    return 0


def _say(words: str, *, json: bool) -> None:
    if not json:
        print(printable(words), flush=True)


def _producer_at(admin: BlockingAdmin, **place: Unpack[TransactionPlace]) -> PartitionProducer:
    """Return the producer whose transaction begins at an offset. Raises CommandFailedError."""
    topic, partition, start_offset = place["topic"], place["partition"], place["start_offset"]
    if topic is None or partition is None or start_offset is None:
        raise CommandFailedError(USAGE)
    partition = checked_partition(partition)
    producers = [
        producer
        for producer in read_producers(admin, [TopicPartition(topic, partition)])
        if producer.has_open_transaction
    ]
    for producer in producers:
        if producer.start_offset == start_offset:
            return producer
    offsets = sorted(producer.start_offset for producer in producers)
    others = f"they begin at {', '.join(map(str, offsets[:10]))}" if offsets else "none is open"
    raise CommandFailedError(
        f"no open transaction of {topic}-{partition} begins at offset {start_offset}: {others}",
        FAILED,
    )


def _plan_marker(producer: PartitionProducer) -> tuple[dict[str, object], str]:
    state = producer.state
    words = (
        f"the transaction of producer {state.producer_id}, epoch {state.producer_epoch}, in"
        f" {producer.at} from offset {producer.start_offset}: a"
        " marker is written, and read_committed readers skip its records"
    )
    return producer_data(producer), words


def _write_marker(admin: BlockingAdmin, producer: PartitionProducer) -> None:
    state = producer.state
    spec = AbortTransactionSpec(
        partition=producer.at,
        producer_id=state.producer_id,
        producer_epoch=state.producer_epoch,
        coordinator_epoch=state.coordinator_epoch,
    )
    try:
        admin.abort_transaction(spec)
    except ClientError as error:
        raise refusal(f"marker in {producer.at}", error) from error


def _plan_fence(admin: BlockingAdmin, transactional_id: str) -> tuple[dict[str, object], str]:
    (state,) = describe_ids(admin, [transactional_id])
    if state.state not in _OPEN:
        raise CommandFailedError(
            f"transactional id {transactional_id}: no transaction is open, it is {state.state}",
            FAILED,
        )
    partitions = partitions_by_topic(state)
    count = sum(map(len, partitions.values()))
    words = (
        f"the transaction of {transactional_id} ({state.state}), in {count:,}"
        f" partition{'s' if count != 1 else ''}: its producer {state.producer_id}, epoch"
        f" {state.producer_epoch}, is fenced"
    )
    if state.state == "PrepareCommit":
        raise CommandFailedError(
            f"transactional id {transactional_id}: its transaction is committed already, and its"
            " markers are being written",
            FAILED,
        )
    data: dict[str, object] = {
        "transactional_id": transactional_id,
        "state": state.state,
        "producer_id": state.producer_id,
        "producer_epoch": state.producer_epoch,
        "partitions": partitions,
    }
    return data, words


def _fence(admin: BlockingAdmin, transactional_id: str) -> None:
    """Begin a new epoch of an id, which aborts its transaction; wait until it is aborted."""
    for error in admin.fence_producers([transactional_id]).errors.values():
        raise refusal(f"transactional id {transactional_id}", error)
