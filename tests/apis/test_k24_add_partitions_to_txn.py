"""AddPartitionsToTxn: the form of clients and that of brokers."""

from typing import Any

import pytest
from trio.testing import MockClock

from tests.apis.authorizers import RuleAuthorizer
from tests.apis.kit import broker, stable
from tests.apis.transactional_ids import ID, add_request, begin, end, initialize, state_of
from trio_kafka.coordinators.transactions.transaction import ProducerIdentity
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from trio_kafka.security.operations import Operation

CLIENTS = range(4)
BROKERS = [version for version in stable(AddPartitionsToTxnRequest) if version >= 4]


def errors_of(topics: Any) -> dict[str, list[int]]:
    return {
        topic.name: [part.partition_error_code for part in topic.results_by_partition]
        for topic in topics
    }


def of_client(answer: AddPartitionsToTxnResponse) -> dict[str, list[int]]:
    return errors_of(answer.results_by_topic_v3_and_below)


def of_broker(answer: AddPartitionsToTxnResponse) -> list[dict[str, list[int]]]:
    return [errors_of(result.topic_results) for result in answer.results_by_transaction]


def transaction(
    identity: ProducerIdentity, numbers: list[int], *, name: str = ID, verifies: bool = False
) -> AddPartitionsToTxnTransaction:
    topics = [AddPartitionsToTxnTopic("t", numbers)]
    return AddPartitionsToTxnTransaction(
        name, identity.producer_id, identity.epoch, verifies, topics
    )


@pytest.mark.parametrize("version", CLIENTS)
async def test_partitions_are_added(autojump_clock: MockClock, version: int) -> None:
    async with broker() as served:
        await served.create_topic("t", partitions=2)
        await served.create_topic("u")
        identity = await initialize(served)

        answer = await served.ask(add_request(identity, {"t": [0, 1], "u": [0]}), version)

        assert of_client(answer) == {"t": [0, 0], "u": [0]}
        assert state_of(served) == "Ongoing"


async def test_unknown_partition_prevents_the_others(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        identity = await initialize(served)

        answer = await served.ask(add_request(identity, {"t": [0, 9], "none": [0]}), 3)

        missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert of_client(answer) == {
            "t": [ErrorCode.OPERATION_NOT_ATTEMPTED, missing],
            "none": [missing],
        }
        assert state_of(served) == "Empty"


@pytest.mark.parametrize(
    ("version", "code"),
    [(1, ErrorCode.INVALID_PRODUCER_EPOCH), (2, ErrorCode.PRODUCER_FENCED)],
)
async def test_fenced_producer_gets_the_error_that_its_version_knows(
    autojump_clock: MockClock, version: int, code: ErrorCode
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        old = await initialize(served)
        await initialize(served)

        answer = await served.ask(add_request(old, {"t": [0]}), version)

        assert of_client(answer) == {"t": [code]}


async def test_empty_transactional_id_is_invalid(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")

        answer = await served.ask(add_request(ProducerIdentity(1, 0), {"t": [0]}, ""), 3)

        assert of_client(answer) == {"t": [ErrorCode.INVALID_REQUEST]}


async def test_topics_without_write_permission_and_internal_ones_are_refused(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.create_topic("mine")
        identity = await initialize(served)
        served.broker.parts.authorizer = RuleAuthorizer(
            lambda operation, resource: operation is Operation.WRITE and resource.name != "t"
        )

        answer = await served.ask(
            add_request(identity, {"t": [0], "mine": [0], "__transaction_state": [0]}), 3
        )

        denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert of_client(answer) == {
            "t": [denied],
            "mine": [ErrorCode.OPERATION_NOT_ATTEMPTED],
            "__transaction_state": [denied],
        }


async def test_next_transaction_waits_for_the_markers_of_the_one_before(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        identity = await begin(served)
        for _ in range(20):
            assert (await end(served, identity)).error_code == 0
            answer = await served.ask(add_request(identity, {"t": [0]}), 3)
            assert of_client(answer) == {"t": [0]}


@pytest.mark.parametrize("version", BROKERS)
async def test_broker_adds_and_verifies_partitions_of_several_transactions(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t", partitions=2)
        identity = await begin(served)
        other = await initialize(served, "other")
        unknown = ErrorCode.INVALID_PRODUCER_ID_MAPPING

        answer = await served.ask(
            AddPartitionsToTxnRequest(
                [
                    transaction(identity, [0], verifies=True),
                    transaction(other, [0, 1], name="other"),
                    transaction(identity, [0, 1], name="payments-2", verifies=True),
                ]
            ),
            version,
        )

        not_here = {unknown, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
        added, verified, strange = of_broker(answer)
        assert (added, verified) == ({"t": [0]}, {"t": [0, 0]})
        assert set(strange["t"]) <= not_here
        assert state_of(served, "other") == "Ongoing"


@pytest.mark.parametrize("version", [4, 5])
async def test_partition_that_is_not_part_of_the_transaction_is_not_verified(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t", partitions=2)
        identity = await begin(served)

        request = AddPartitionsToTxnRequest([transaction(identity, [0, 1], verifies=True)])
        answer = await served.ask(request, version)

        assert of_broker(answer) == [{"t": [0, ErrorCode.TRANSACTION_ABORTABLE]}]
