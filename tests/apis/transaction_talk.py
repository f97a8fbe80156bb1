"""Talk of a client with a coordinator of transactions, written down so that brokers compare.

Producer ids are replaced by names, times by a word, and texts of errors are left out.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any, Final

import attrs
import trio
from attrs import define, field

from tests.apis.kit import batch, produce_request
from trio_kafka.coordinators.transactions.transaction import ProducerIdentity
from trio_kafka.protocol.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from trio_kafka.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from trio_kafka.protocol.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from trio_kafka.protocol.messages.k25_add_offsets_to_txn import AddOffsetsToTxnRequest
from trio_kafka.protocol.messages.k26_end_txn import EndTxnRequest
from trio_kafka.protocol.messages.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from trio_kafka.protocol.messages.k65_describe_transactions import DescribeTransactionsRequest
from trio_kafka.testing.scripted_client import newest

GROUP, TRANSACTION = 0, 1
OLD_END, NEW_END = 4, 5  # versions of EndTxn
OLD_PRODUCE, NEW_PRODUCE = 11, 12
OLD_OFFSETS, NEW_OFFSETS = 4, 5  # of TxnOffsetCommit
OLD_ADD: Final = 3  # newest version of AddPartitionsToTxn for clients
INIT: Final = 5
TIMEOUT_MS: Final = 60_000
PATIENCE_S: Final = 30.0
_TIMES: Final = ("transaction_start_time_ms", "last_timestamp")
_LEFT_OUT: Final = ("error_message", "throttle_time_ms")
_UNORDERED: Final = (
    *("topics", "partitions", "active_producers", "topic_results", "results_by_partition"),
    *("partition_responses", "results_by_topic_v3_and_below"),
)
_SETTLED: Final = ("Empty", "Ongoing", "CompleteCommit", "CompleteAbort", "")
Ask = Callable[[Any, int], Awaitable[Any]]


@define
class TransactionTalk:
    """ask: sends a request. lines: what was asked and answered."""

    ask: Ask
    lines: list[str] = field(factory=list)
    _names: dict[int, str] = field(factory=dict)

    def begin(self) -> None:
        """Begin a part: producers are named from the first one again."""
        self._names.clear()

    async def say(self, label: str, request: Any, version: int | None = None) -> Any:
        """Send a request and write down the answer."""
        number = newest(type(request)) if version is None else version
        answer = await self.ask(request, number)
        self.lines.append(f"{label} v{number} => {shown(answer, self._names)}")
        return answer

    async def say_in(self, versions: Iterable[int], label: str, request: Any) -> None:
        """Send a request in several versions."""
        for version in versions:
            await self.say(label, request, version)

    async def ready(self, kind: int, key: str) -> None:
        """Wait until a group or a transactional id has a coordinator that serves it."""
        request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
        with trio.fail_after(PATIENCE_S):
            while (await self.ask(request, 4)).coordinators[0].error_code:
                await trio.sleep(0.1)
        if kind == TRANSACTION:
            await self.settle(key)

    async def create(self, *topics: str) -> None:
        """Create topics with two partitions, and wait for their leaders."""
        requested = [CreatableTopic(topic, 2, 1) for topic in topics]
        await self.ask(CreateTopicsRequest(requested, timeout_ms=30_000), 7)
        for topic in topics:
            for number in range(2):
                row = ListOffsetsTopic(topic, [ListOffsetsPartition(number, timestamp=-1)])
                with trio.fail_after(PATIENCE_S):
                    while (
                        (await self.ask(ListOffsetsRequest(-1, topics=[row]), 7))
                        .topics[0]
                        .partitions[0]
                        .error_code
                    ):
                        await trio.sleep(0.05)

    async def settle(self, name: str, *states: str) -> None:
        """Wait until all markers of a transactional id are written, or for a state."""
        request = DescribeTransactionsRequest([name])
        with trio.fail_after(PATIENCE_S):
            while True:
                (row,) = (await self.ask(request, 0)).transaction_states
                if row.error_code not in {14, 15, 16} and row.transaction_state in (
                    states or _SETTLED
                ):
                    return
                await trio.sleep(0.05)

    async def initialize(self, name: str, **fields: Any) -> ProducerIdentity:
        """Return a producer, after the first answer that does not ask to come back."""
        request = InitProducerIdRequest(name, fields.pop("timeout_ms", TIMEOUT_MS), **fields)
        with trio.fail_after(PATIENCE_S):
            while (answer := await self.ask(request, INIT)).error_code in {14, 15, 16, 51}:
                await trio.sleep(0.05)
        assert not answer.error_code, answer
        self._names.setdefault(answer.producer_id, f"P{len(self._names)}")
        return ProducerIdentity(answer.producer_id, answer.producer_epoch)


def shown(value: Any, names: dict[int, str]) -> str:
    """Return an answer as text, without default values and what differs from run to run."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(shown(item, names) for item in value)}]"
    if not attrs.has(type(value)):
        return repr(value)
    fields = []
    for attribute in attrs.fields(type(value)):
        name, item = attribute.name, getattr(value, attribute.name)
        if name == "producer_id" and not item and getattr(value, "error_code", 0):
            continue  # of nothing
        if name == "producer_id" and item >= 0:
            fields.append(f"{name}={names.setdefault(item, f'P{len(names)}')}")
        elif name in _TIMES and item > 0:
            fields.append(f"{name}=TIME")
        elif name == "topic_id" and any(item):
            fields.append(f"{name}=ID")
        elif name not in _LEFT_OUT and item not in (attribute.default, []):
            text = shown(item, names)
            if name in _UNORDERED:
                text = f"[{', '.join(sorted(shown(each, names) for each in item))}]"
            fields.append(f"{name}={text}")
    return f"{type(value).__name__}({', '.join(fields)})"


def add(
    name: str, producer: ProducerIdentity, topics: dict[str, list[int]]
) -> AddPartitionsToTxnRequest:
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=name,
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(*topic) for topic in topics.items()],
    )


def add_offsets(
    name: str, producer: ProducerIdentity, group: str = "offsets"
) -> AddOffsetsToTxnRequest:
    return AddOffsetsToTxnRequest(name, producer.producer_id, producer.epoch, group)


def end(name: str, producer: ProducerIdentity, *, commits: bool = True) -> EndTxnRequest:
    return EndTxnRequest(name, producer.producer_id, producer.epoch, commits)


def batch_of(producer: ProducerIdentity, sequence: int = 0, **fields: Any) -> memoryview:
    """Return a transactional batch of one record."""
    kept = {"transactional": True, **fields}
    return batch(
        b"value",
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        base_sequence=sequence,
        **kept,
    )


def write(name: str | None, topic: str, *batches: memoryview, acks: int = -1) -> Any:
    """Return a Produce: the first batch is for partition 0, the second for partition 1."""
    request = produce_request(topic, *enumerate(batches), acks=acks)
    request.transactional_id = name
    return request


def commit_offsets(
    name: str,
    producer: ProducerIdentity,
    topic: str,
    *,
    group: str = "offsets",
    offset: int = 7,
    partitions: Iterable[int] = (0,),
    metadata: str = "",
    **member: Any,
) -> TxnOffsetCommitRequest:
    rows = [TxnOffsetCommitRequestPartition(number, offset, -1, metadata) for number in partitions]
    return TxnOffsetCommitRequest(
        name,
        group,
        producer.producer_id,
        producer.epoch,
        topics=[TxnOffsetCommitRequestTopic(topic, partitions=rows)],
        **member,
    )


def wrong(producer: ProducerIdentity) -> Iterator[tuple[str, ProducerIdentity]]:
    """Yield producers that are none of the coordinator's."""
    yield "an older epoch", ProducerIdentity(producer.producer_id, producer.epoch - 1)
    yield "a newer epoch", ProducerIdentity(producer.producer_id, producer.epoch + 1)
    yield "another producer", ProducerIdentity(producer.producer_id + 100_000, producer.epoch)


def describe(name: str) -> DescribeTransactionsRequest:
    return DescribeTransactionsRequest([name])
