"""Answers of a transaction coordinator that loads, has moved, has no replicas, or has stopped.

Each is held against Apache Kafka's TransactionStateManager, TransactionCoordinator and KafkaApis.
"""

from collections.abc import Callable
from typing import Any, Final

import pytest
from attrs import frozen
from trio.testing import MockClock

from tests.apis.kit import broker, stable
from tests.apis.transaction_talk import add_offsets, commit_offsets, describe
from tests.apis.transactional_ids import ID, add_request, begin
from trio_kafka.coordinators.shards.protocols import ShardState
from trio_kafka.coordinators.shards.shard import Shard
from trio_kafka.coordinators.transactions.coordinator import TransactionCoordinator
from trio_kafka.coordinators.transactions.transaction import ProducerIdentity
from trio_kafka.errors import ErrorCode
from trio_kafka.metadata.names import TRANSACTION_STATE
from trio_kafka.model import NodeId
from trio_kafka.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from trio_kafka.protocol.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from trio_kafka.protocol.messages.k25_add_offsets_to_txn import AddOffsetsToTxnRequest
from trio_kafka.protocol.messages.k26_end_txn import EndTxnRequest
from trio_kafka.protocol.messages.k28_txn_offset_commit import TxnOffsetCommitRequest
from trio_kafka.protocol.messages.k65_describe_transactions import DescribeTransactionsRequest
from trio_kafka.protocol.messages.k66_list_transactions import ListTransactionsRequest
from trio_kafka.testing.broker import ServedBroker

LOADS: Final = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
MISSING: Final = ErrorCode.COORDINATOR_NOT_AVAILABLE
MOVED: Final = ErrorCode.NOT_COORDINATOR
GROUP: Final = "offsets"


def codes_of(answer: Any) -> set[int]:
    """Return the error codes of an answer, at any depth, without zeros of rows that have rows."""
    codes = set()
    for name in type(answer).__slots__:
        value = getattr(answer, name, None)
        if name in {"error_code", "partition_error_code"}:
            codes.add(value)
        elif isinstance(value, list | tuple):
            codes.update(*(codes_of(row) for row in value if hasattr(row, "__slots__")))
    return codes if len(codes) < 2 else codes - {0}


def add_partitions(identity: ProducerIdentity, version: int) -> AddPartitionsToTxnRequest:
    """Return the form of a client, or from version 4 on the one of a broker."""
    if version < 4:
        return add_request(identity, {"t": [1]})
    row = AddPartitionsToTxnTransaction(
        ID,
        identity.producer_id,
        identity.epoch,
        verify_only=version % 2 == 0,
        topics=[AddPartitionsToTxnTopic("t", [1])],
    )
    return AddPartitionsToTxnRequest([row])


REQUESTS: Final[dict[type[Any], Callable[[ProducerIdentity, int], Any]]] = {
    InitProducerIdRequest: lambda _, version: InitProducerIdRequest(ID, 60_000),
    AddPartitionsToTxnRequest: add_partitions,
    AddOffsetsToTxnRequest: lambda identity, _: add_offsets(ID, identity, GROUP),
    EndTxnRequest: lambda identity, _: EndTxnRequest(
        ID, identity.producer_id, identity.epoch, committed=True
    ),
    TxnOffsetCommitRequest: lambda identity, _: commit_offsets(ID, identity, "t", group=GROUP),
    DescribeTransactionsRequest: lambda _identity, _: describe(ID),
    ListTransactionsRequest: lambda _identity, _: ListTransactionsRequest([], []),
}
NAMED: Final = [api for api in REQUESTS if api is not ListTransactionsRequest]
WRITING: Final = [
    InitProducerIdRequest,
    AddPartitionsToTxnRequest,
    AddOffsetsToTxnRequest,
    EndTxnRequest,
]


@frozen
class Case:
    """One broker with an open transaction, whose coordinator is about to change."""

    served: ServedBroker
    identity: ProducerIdentity

    @property
    def shard(self) -> Shard[Any]:
        return self.served.broker[TransactionCoordinator].coordinator.shard_of(ID)

    async def codes(self, api: type[Any]) -> dict[int, set[int]]:
        """Return the error codes in each version of a request."""
        return {version: await self.code(api, version) for version in versions(api)}

    async def code(self, api: type[Any], version: int) -> set[int]:
        request = REQUESTS[api](self.identity, version)
        return codes_of(await self.served.ask(request, version))


async def case(served: ServedBroker) -> Case:
    await served.create_topic("t", partitions=2)
    await served.serve_groups(GROUP)
    return Case(served, await begin(served))


def versions(api: type[Any]) -> list[int]:
    """Return the versions with which a client of version 2 of transactions has no other path."""
    return [v for v in stable(api) if api is not TxnOffsetCommitRequest or v < 6]


def expected(api: type[Any], code: ErrorCode) -> dict[int, set[int]]:
    """Return the code for each version. Clients before KAFKA-7296 do not know that a coordinator
    loads.
    """
    codes = {version: {int(code)} for version in versions(api)}
    if api is TxnOffsetCommitRequest and code is LOADS:
        codes[0] = codes[1] = {int(MISSING)}
    return codes


@pytest.mark.parametrize("api", REQUESTS)
async def test_a_coordinator_that_loads_says_so_to_every_request(
    autojump_clock: MockClock, api: type[Any]
) -> None:
    async with broker() as served:
        opened = await case(served)
        opened.shard.state = ShardState.LOADING

        assert await opened.codes(api) == expected(api, LOADS)


async def test_offsets_for_a_group_whose_coordinator_loads_are_answered_like_those_of_a_transaction(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        opened = await case(served)
        await opened.code(AddOffsetsToTxnRequest, 3)
        served.broker.groups.coordinator.shard_of(GROUP).state = ShardState.LOADING

        api = TxnOffsetCommitRequest
        assert await opened.codes(api) == expected(api, LOADS)


@pytest.mark.parametrize("api", NAMED)
async def test_a_coordinator_that_has_moved_is_to_be_found_again(
    autojump_clock: MockClock, api: type[Any]
) -> None:
    async with broker() as served:
        opened = await case(served)
        opened.shard.state = ShardState.UNLOADED

        assert await opened.codes(api) == expected(api, MOVED)


@pytest.mark.parametrize("api", WRITING)
async def test_a_change_that_is_not_replicated_in_time_makes_the_coordinator_unavailable(
    autojump_clock: MockClock, api: type[Any]
) -> None:
    async with broker() as served:
        opened = await case(served)
        topic = served.broker[TransactionCoordinator].topic
        number = topic.partition_of(ID)
        served.broker.replicas.partition(TRANSACTION_STATE, number).isr = (NodeId(1), NodeId(7))

        assert await opened.code(api, 2) == {int(MISSING)}


@pytest.mark.parametrize("api", REQUESTS)
async def test_a_coordinator_that_has_stopped_serves_no_request(
    autojump_clock: MockClock, api: type[Any]
) -> None:
    inspects = api in {DescribeTransactionsRequest, ListTransactionsRequest}
    async with broker() as served:
        opened = await case(served)
        served.broker[TransactionCoordinator].stop()

        assert await opened.codes(api) == expected(api, MISSING if inspects else MOVED)


async def test_list_is_refused_before_its_filters_are_looked_at(autojump_clock: MockClock) -> None:
    async with broker() as served:
        opened = await case(served)
        opened.shard.state = ShardState.LOADING

        for filters in (["none"], ["none", "Ongoing"]):
            answer = await served.ask(ListTransactionsRequest(filters, []), 2)
            assert (answer.error_code, answer.unknown_state_filters) == (LOADS, [])


async def test_a_wrong_time_out_is_refused_before_the_coordinator_is_looked_for(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        answer = await served.ask(InitProducerIdRequest(ID, 1 << 30), 5)

        assert answer.error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT
