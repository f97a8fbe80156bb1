"""WriteTxnMarkers: ends transactions in partitions of data and in those of the groups."""

import pytest
from trio.testing import MockClock

from tests.apis.authorizers import RuleAuthorizer
from tests.apis.kit import broker, fetch, stable, values_of
from tests.apis.transactions import (
    Coordinator,
    commit_offsets,
    fetch_offset,
    marker_request,
    produce_in_transaction,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.metadata.names import CONSUMER_OFFSETS
from trio_kafka.protocol.messages.k01_fetch import FetchPartition
from trio_kafka.protocol.messages.k27_write_txn_markers import (
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from trio_kafka.requests.rows import MANY
from trio_kafka.security.operations import Operation
from trio_kafka.testing.broker import ServedBroker


def codes(answer: WriteTxnMarkersResponse) -> list[tuple[str, int, int]]:
    return [
        (topic.name, row.partition_index, row.error_code)
        for marker in answer.markers
        for topic in marker.topics
        for row in topic.partitions
    ]


async def committed_values(served: ServedBroker) -> list[bytes | None]:
    """Values of t-0 below the last stable offset, without those of aborted transactions."""
    part = await fetch(served, "t", FetchPartition(0), isolation_level=1)
    if any(aborted.producer_id == 7 for aborted in part.aborted_transactions or ()):
        return []
    return values_of(part)


@pytest.mark.parametrize("version", stable(WriteTxnMarkersRequest))
@pytest.mark.parametrize("commit", [True, False])
async def test_marker_commits_or_aborts_the_transaction_of_its_partition(
    autojump_clock: MockClock, version: int, commit: bool
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        Coordinator(served)
        await produce_in_transaction(served, "t", b"a", b"b")
        assert await committed_values(served) == []

        answer = await served.ask(marker_request({"t": [0]}, commit=commit), version)

        assert answer.markers[0].producer_id == 7
        assert codes(answer) == [("t", 0, 0)]
        values = await committed_values(served)
        assert values[:2] == ([b"a", b"b"] if commit else [])


async def test_rows_are_answered_in_the_order_of_the_request_with_their_errors(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t", MANY + 2)
        numbers = [MANY + 9, *range(MANY + 2)]
        request = marker_request({"t": numbers, "none": [3]})
        request.markers += marker_request({"none": [1], "t": [0]}, epoch=4).markers

        answer = await served.ask(request)

        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert codes(answer) == [
            ("t", MANY + 9, unknown),
            *(("t", number, 0) for number in range(MANY + 2)),
            ("none", 3, unknown),
            ("none", 1, unknown),
            ("t", 0, 0),
        ]
        assert [len(marker.topics) for marker in answer.markers] == [2, 2]


@pytest.mark.parametrize(
    ("version", "transaction_version", "code"),
    [(1, 2, 0), (2, 0, 0), (2, 2, ErrorCode.INVALID_PRODUCER_EPOCH)],
)
async def test_marker_of_transaction_version_2_needs_a_newer_epoch(
    autojump_clock: MockClock, version: int, transaction_version: int, code: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        Coordinator(served)
        await produce_in_transaction(served, "t", b"a")
        request = marker_request({"t": [0]}, transaction_version=transaction_version)
        if version == 1:
            request.markers[0].transaction_version = 0

        assert codes(await served.ask(request, version)) == [("t", 0, code)]


async def test_marker_of_a_replaced_coordinator_is_fenced(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.ask(marker_request({"t": [0]}, coordinator_epoch=5))

        answer = await served.ask(marker_request({"t": [0]}, coordinator_epoch=4))

        assert codes(answer) == [("t", 0, ErrorCode.TRANSACTION_COORDINATOR_FENCED)]


@pytest.mark.parametrize("commit", [True, False])
async def test_marker_in_the_offsets_topic_commits_or_drops_pending_offsets(
    autojump_clock: MockClock, commit: bool
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("g")
        Coordinator(served)
        await commit_offsets(served, offset=7)
        number = served.broker.groups.topic.partition_of("g")

        answer = await served.ask(marker_request({CONSUMER_OFFSETS: [number]}, commit=commit))

        assert codes(answer) == [(CONSUMER_OFFSETS, number, 0)]
        assert await fetch_offset(served, stable=True) == ((7 if commit else -1), 0)


async def test_marker_of_a_partition_without_a_group_coordinator_is_to_be_sent_elsewhere(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("g")
        served.broker.groups.stop()
        number = served.broker.groups.topic.partition_of("g")

        answer = await served.ask(marker_request({CONSUMER_OFFSETS: [number]}))

        assert codes(answer) == [(CONSUMER_OFFSETS, number, ErrorCode.NOT_LEADER_OR_FOLLOWER)]


async def test_hanging_transaction_is_aborted_without_a_coordinator(
    autojump_clock: MockClock,
) -> None:
    """As an administrator does who found it with DescribeProducers."""
    async with broker() as served:
        await served.create_topic("t")
        coordinator = Coordinator(served)
        await produce_in_transaction(served, "t", b"hangs")
        assert len(coordinator.questions) == 1
        coordinator.remove()

        await served.ask(marker_request({"t": [0]}, commit=False))

        part = await fetch(served, "t", FetchPartition(0), isolation_level=1)
        assert part.last_stable_offset == part.high_watermark == 2
        assert [aborted.producer_id for aborted in part.aborted_transactions] == [7]


@pytest.mark.parametrize(
    ("operation", "allowed"),
    [(Operation.ALTER, True), (Operation.CLUSTER_ACTION, True), (Operation.DESCRIBE, False)],
)
async def test_markers_need_one_of_two_permissions_on_the_cluster(
    autojump_clock: MockClock, operation: Operation, allowed: bool
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        served.broker.parts.authorizer = RuleAuthorizer(
            lambda permission, _resource: permission is operation
        )

        answer = await served.ask(marker_request({"t": [0]}))

        assert codes(answer) == [("t", 0, 0 if allowed else ErrorCode.CLUSTER_AUTHORIZATION_FAILED)]
