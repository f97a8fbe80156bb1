"""Transactional batches: admitted by the transaction coordinator, or rejected with its error."""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.authorizers import RuleAuthorizer
from tests.apis.kit import batch, broker, codes, fetch, parts_of, produce_request, values_of
from tests.apis.transactions import PRODUCER, Coordinator, produce_in_transaction
from tests.requests.waits import Waits
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.replication.leader.markers import TransactionMarker, append_marker
from trio_kafka.testing.broker import ServedBroker

AT = TopicPartition("t", 0)


def end_transaction(served: ServedBroker, *, epoch: int = 0) -> None:
    """Abort the transaction of the producer in t-0."""
    (partition,) = (each for each in served.broker.replicas.partitions if each.at == AT)
    append_marker(
        partition,
        TransactionMarker(
            producer_id=7,
            producer_epoch=epoch,
            coordinator_epoch=0,
            is_commit=False,
            transaction_version=0,
            partitions=(AT,),
        ),
    )


async def test_admitted_batch_is_appended_and_later_ones_need_no_question(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        coordinator = Coordinator(served)

        rows = [
            *await produce_in_transaction(served, "t", b"a"),
            *await produce_in_transaction(served, "t", b"b", sequence=1),
        ]

        assert [(row.error_code, row.base_offset) for row in rows] == [(0, 0), (0, 1)]
        (ask,) = coordinator.questions
        assert (ask.transactional_id, ask.producer_id, ask.producer_epoch) == ("tx", 7, 0)
        assert ask.partitions == (AT,)
        assert await fetch(served, "t", isolation_level=1) is not None


@pytest.mark.parametrize(
    ("version", "adds", "knows"), [(10, False, False), (11, False, True), (12, True, True)]
)
async def test_version_of_produce_decides_whether_partitions_are_added_or_verified(
    autojump_clock: MockClock, version: int, adds: bool, knows: bool
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        coordinator = Coordinator(served)

        await produce_in_transaction(served, "t", b"a", version=version)

        (ask,) = coordinator.questions
        assert (ask.adds, ask.knows_generic_errors) == (adds, knows)


RETRIED = ErrorCode.NOT_ENOUGH_REPLICAS


@pytest.mark.parametrize(
    ("version", "error", "code"),
    [
        (9, ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_TXN_STATE),
        (11, ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.TRANSACTION_ABORTABLE),
        (11, ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH),
        (12, ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (12, ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_TXN_STATE),
        (11, ErrorCode.CONCURRENT_TRANSACTIONS, RETRIED),
        (12, ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.CONCURRENT_TRANSACTIONS),
        (12, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, RETRIED),
        (12, ErrorCode.COORDINATOR_NOT_AVAILABLE, RETRIED),
        (12, ErrorCode.NOT_COORDINATOR, RETRIED),
        (9, ErrorCode.NETWORK_EXCEPTION, RETRIED),
    ],
)
async def test_error_of_the_coordinator_becomes_one_that_clients_of_produce_understand(
    autojump_clock: MockClock, version: int, error: ErrorCode, code: ErrorCode
) -> None:
    async with broker() as served:
        await served.create_topic("t", 2)
        Coordinator(served).errors[AT] = error

        refused, appended = await produce_in_transaction(
            served, "t", b"a", version=version, partitions=(0, 1)
        )

        assert (refused.error_code, refused.base_offset) == (code, -1)
        assert (appended.error_code, appended.base_offset) == (0, 0)


async def test_batch_that_waits_for_the_coordinator_is_appended_with_its_own_bytes(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served, served.connect() as other:
        await served.create_topic("t")
        waits = Waits()
        Coordinator(served, waits)
        results, first = [], b"first" * 60_000

        async def send() -> None:
            results.extend(await produce_in_transaction(served, "t", first, acks=-1))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(send)
            await trio.sleep(1)
            for _ in range(3):  # the frame of the parked request is used again
                await other.ask(produce_request("t", (0, batch(b"other" * 60_000))), 9)
            assert results == []
            waits.complete("verdict", {})

        assert [(row.error_code, row.base_offset) for row in results] == [(0, 3)]
        assert values_of(await fetch(served, "t", 3)) == [first]


async def test_verdict_after_the_end_of_the_transaction_admits_nothing(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        waits = Waits()
        Coordinator(served, waits)
        results = []

        async def send() -> None:
            results.extend(await produce_in_transaction(served, "t", b"late"))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(send)
            await trio.sleep(1)
            end_transaction(served)
            waits.complete("verdict", {})

        assert codes(results) == [ErrorCode.INVALID_TXN_STATE]
        (partition,) = served.broker.replicas.partitions
        assert partition.log.last_stable_offset == partition.log.end_offset == 1


async def test_batch_after_the_end_of_its_transaction_is_asked_for_again(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        coordinator = Coordinator(served)
        await produce_in_transaction(served, "t", b"a")
        end_transaction(served)
        coordinator.errors[AT] = ErrorCode.TRANSACTION_ABORTABLE

        rows = await produce_in_transaction(served, "t", b"b", sequence=1)

        assert codes(rows) == [ErrorCode.TRANSACTION_ABORTABLE]
        assert len(coordinator.questions) == 2


async def test_plain_and_invalid_batches_and_missing_partitions_are_not_asked_for(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t", 3)
        coordinator = Coordinator(served)
        sent = {**PRODUCER, "base_sequence": 0}
        request = produce_request(
            "t",
            (0, batch(b"a", **sent)),
            (1, batch(b"a", transactional=True, **sent)[:20]),
            (2, None),
            (9, batch(b"a", transactional=True, **sent)),
        )
        request.transactional_id = "tx"

        rows = parts_of(await served.ask(request, 11))

        assert coordinator.questions == []
        assert codes(rows) == [
            ErrorCode.NONE,
            ErrorCode.INVALID_RECORD,
            ErrorCode.INVALID_RECORD,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ]


async def test_batches_of_two_producers_in_one_request_are_rejected(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t", 2)
        Coordinator(served)
        sent = {"producer_epoch": 0, "base_sequence": 0, "transactional": True}
        request = produce_request(
            "t", *((number, batch(b"a", producer_id=number, **sent)) for number in (0, 1))
        )
        request.transactional_id = "tx"

        rows = parts_of(await served.ask(request, 11))

        assert codes(rows) == [ErrorCode.INVALID_PRODUCER_ID_MAPPING] * 2


async def test_transactional_batch_without_a_transactional_id_is_rejected(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        coordinator = Coordinator(served)

        rows = await produce_in_transaction(served, "t", b"a", transactional_id=None)

        assert codes(rows) == [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED]
        assert coordinator.questions == []


async def test_topic_that_may_not_be_written_is_not_asked_for(autojump_clock: MockClock) -> None:
    authorizer = RuleAuthorizer(lambda _operation, resource: resource.name != "secret")
    async with broker() as served:
        await served.create_topic("t")
        await served.create_topic("secret")
        served.broker.parts.authorizer = authorizer
        coordinator = Coordinator(served)

        allowed = await produce_in_transaction(served, "t", b"a")
        denied = await produce_in_transaction(served, "secret", b"a")

        assert codes(allowed + denied) == [0, ErrorCode.TOPIC_AUTHORIZATION_FAILED]
        assert [ask.partitions for ask in coordinator.questions] == [(AT,)]
