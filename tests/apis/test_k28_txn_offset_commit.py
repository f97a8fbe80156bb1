"""TxnOffsetCommit: offsets that count once their transaction is committed."""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.authorizers import RuleAuthorizer
from tests.apis.kit import broker, stable
from tests.apis.transactions import (
    Coordinator,
    commit_offsets,
    fetch_offset,
    marker_request,
    offsets_request,
)
from tests.requests.waits import Waits
from trio_kafka.errors import ErrorCode
from trio_kafka.metadata.names import CONSUMER_OFFSETS
from trio_kafka.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from trio_kafka.protocol.messages.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from trio_kafka.protocol.messages.k42_delete_groups import DeleteGroupsRequest
from trio_kafka.requests.rows import MANY
from trio_kafka.security.operations import Operation
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world

UNSTABLE = (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)


def codes(answer: TxnOffsetCommitResponse) -> list[tuple[int, int]]:
    return [
        (row.partition_index, row.error_code) for topic in answer.topics for row in topic.partitions
    ]


async def end(served: ServedBroker, *, commit: bool = True, epoch: int = 0) -> None:
    """End the transaction of the producer in the partition of the group."""
    number = served.broker.groups.topic.partition_of("g")
    request = marker_request({CONSUMER_OFFSETS: [number]}, commit=commit, epoch=epoch)
    (marker,) = (await served.ask(request)).markers
    assert marker.topics[0].partitions[0].error_code == 0


@pytest.mark.parametrize("version", stable(TxnOffsetCommitRequest))
async def test_offsets_are_unstable_until_the_end_of_the_transaction(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("t")
        await served.serve_groups("g")
        coordinator = Coordinator(served)

        answer = await commit_offsets(served, offset=7, topic_id=topic_id, version=version)

        assert codes(answer) == [(0, 0)]
        (ask,) = coordinator.questions
        assert (ask.transactional_id, ask.producer_id, ask.producer_epoch) == ("tx", 7, 0)
        assert [at.topic for at in ask.partitions] == [CONSUMER_OFFSETS]
        assert (ask.adds, ask.knows_generic_errors) == (version >= 5, version >= 4)
        assert await fetch_offset(served, stable=True) == UNSTABLE
        assert await fetch_offset(served) == (-1, 0)
        await end(served)
        assert await fetch_offset(served, stable=True) == (7, 0)


async def test_second_commit_of_a_transaction_is_not_asked_for_and_the_last_offset_counts(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("g")
        coordinator = Coordinator(served)

        for offset in (7, 9):
            await commit_offsets(served, offset=offset)
        await end(served)

        assert len(coordinator.questions) == 1
        assert await fetch_offset(served) == (9, 0)


async def test_aborted_offsets_leave_the_committed_one(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("g")
        Coordinator(served)
        await commit_offsets(served, offset=3)
        await end(served)

        await commit_offsets(served, offset=8)
        await end(served, commit=False)

        assert await fetch_offset(served, stable=True) == (3, 0)


async def test_pending_offsets_and_their_end_survive_a_restart(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with served_broker(world) as served:
        await served.create_topic("t")
        await served.serve_groups("g")
        Coordinator(served)
        await commit_offsets(served, offset=3)
        await end(served)
        await commit_offsets(served, offset=8)

    async with served_broker(world) as served:
        await served.serve_groups("g")
        assert await fetch_offset(served) == (3, 0)
        assert await fetch_offset(served, stable=True) == UNSTABLE
        await end(served)
        assert await fetch_offset(served, stable=True) == (8, 0)

    async with served_broker(world) as served:
        await served.serve_groups("g")
        assert await fetch_offset(served, stable=True) == (8, 0)


async def test_offset_that_is_committed_meanwhile_wins(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("g")
        Coordinator(served)
        await commit_offsets(served, offset=7)
        row = OffsetCommitRequestPartition(0, 100)
        topic = OffsetCommitRequestTopic("t", partitions=[row])
        await served.ask(OffsetCommitRequest("g", topics=[topic]), 9)

        await end(served)

        assert await fetch_offset(served, stable=True) == (100, 0)


async def test_deleted_group_keeps_no_pending_offset(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("g")
        Coordinator(served)
        await commit_offsets(served, offset=7)

        deleted = await served.ask(DeleteGroupsRequest(["g"]))

        assert [result.error_code for result in deleted.results] == [0]
        assert await fetch_offset(served, stable=True) == (-1, 0)
        await end(served)
        assert await fetch_offset(served, stable=True) == (-1, 0)


@pytest.mark.parametrize(
    ("version", "error", "code"),
    [
        (3, ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_TXN_STATE),
        (4, ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.TRANSACTION_ABORTABLE),
        (5, ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH),
        (5, ErrorCode.NETWORK_EXCEPTION, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        (5, ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.CONCURRENT_TRANSACTIONS),
    ],
)
async def test_error_of_the_transaction_coordinator_is_that_of_each_offset(
    autojump_clock: MockClock, version: int, error: ErrorCode, code: ErrorCode
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("g")
        coordinator = Coordinator(served)
        coordinator.refuse_all(error)

        answer = await commit_offsets(served, version=version)

        assert codes(answer) == [(0, code)]
        assert await fetch_offset(served, stable=True) == (-1, 0)


async def test_verdict_after_the_end_of_the_transaction_stores_nothing(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served, served.connect() as other:
        await served.create_topic("t")
        await served.serve_groups("g")
        waits = Waits()
        Coordinator(served, waits)
        answers = []

        async def commit() -> None:
            answers.append(await commit_offsets(other, version=4))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(commit)
            await trio.sleep(1)
            await end(served, commit=False)
            waits.complete("verdict", {})

        assert codes(answers[0]) == [(0, ErrorCode.INVALID_TXN_STATE)]
        assert await fetch_offset(served, stable=True) == (-1, 0)


async def test_older_epoch_of_a_producer_is_fenced(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("g")
        Coordinator(served)
        await end(served, epoch=2)

        assert codes(await commit_offsets(served, epoch=1)) == [
            (0, ErrorCode.INVALID_PRODUCER_EPOCH)
        ]
        assert codes(await commit_offsets(served, epoch=2)) == [(0, 0)]


async def test_wrong_rows_have_errors_of_their_own_and_many_are_stored_as_one_batch(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        count = 2 * MANY + 50
        await served.create_topic("t", count)
        await served.serve_groups("g")
        Coordinator(served)
        request = offsets_request([count, *range(count)], offset=5)
        request.topics += offsets_request([0], topic="none").topics
        request.topics[0].partitions[3].committed_metadata = "x" * 5000

        answer = await served.ask(request, 5)
        await end(served)

        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert codes(answer) == [
            (count, unknown),
            *((n, ErrorCode.OFFSET_METADATA_TOO_LARGE * (n == 2)) for n in range(count)),
            (0, unknown),
        ]
        offsets = served.broker.groups.coordinator.shard_of("g").machine.offsets
        assert [offsets.get("g", "t", number) is None for number in range(4)] == [
            False,
            False,
            True,
            False,
        ]
        assert offsets.count == count - 1
        log = served.broker.groups.coordinator.shard_of("g").log.partition.log
        assert len(log.producers.get(7).batches) == 1


async def test_request_without_valid_offsets_writes_nothing(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("g")
        Coordinator(served)
        log = served.broker.groups.coordinator.shard_of("g").log.partition.log

        answer = await served.ask(offsets_request([0], metadata="x" * 5000), 5)

        assert codes(answer) == [(0, ErrorCode.OFFSET_METADATA_TOO_LARGE)]
        assert log.end_offset == 0


async def test_unknown_members_and_groups_are_rejected(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("g")
        Coordinator(served)

        of_member = offsets_request([0])
        of_member.generation_id_or_member_epoch, of_member.member_id = 3, "m"
        unknown_group = await served.ask(of_member, 5)
        await commit_offsets(served)  # makes the group
        unknown_member = await served.ask(of_member, 5)
        nameless = offsets_request([0])
        nameless.group_id = ""
        empty = await served.ask(nameless, 5)

        assert codes(unknown_group) == [(0, ErrorCode.ILLEGAL_GENERATION)]
        assert codes(unknown_member) == [(0, ErrorCode.UNKNOWN_MEMBER_ID)]
        assert codes(empty) == [(0, ErrorCode.INVALID_GROUP_ID)]


async def test_broker_without_a_transaction_coordinator_stores_no_offset(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("g")
        coordinator = Coordinator(served)
        coordinator.remove()

        assert codes(await commit_offsets(served)) == [(0, ErrorCode.INVALID_TXN_STATE)]


@pytest.mark.parametrize(
    ("denied", "code"),
    [
        (Operation.WRITE, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (Operation.READ, ErrorCode.GROUP_AUTHORIZATION_FAILED),
    ],
)
async def test_offsets_need_write_on_the_transactional_id_and_read_on_the_group(
    autojump_clock: MockClock, denied: Operation, code: ErrorCode
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("g")
        coordinator = Coordinator(served)
        served.broker.parts.authorizer = RuleAuthorizer(
            lambda permission, _: permission is not denied
        )

        assert codes(await commit_offsets(served)) == [(0, code)]
        assert coordinator.questions == []
