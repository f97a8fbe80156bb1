"""FindCoordinator: groups and transactional ids are found where their partition is led, and share
groups nowhere.
"""

import pytest
from trio.testing import MockClock

from tests.apis.kit import broker, stable
from tests.apis.transactional_ids import serve_transactions
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k10_find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

GROUP, TRANSACTION, SHARE = 0, 1, 2


def asking(version: int, kind: int, *keys: str) -> FindCoordinatorRequest:
    if version >= 4:
        return FindCoordinatorRequest(key_type=kind, coordinator_keys=list(keys))
    return FindCoordinatorRequest(key=keys[0], key_type=kind if version else 0)


def coordinators_of(
    answer: FindCoordinatorResponse, version: int
) -> list[tuple[int, int, str, int]]:
    if version < 4:
        return [(answer.error_code, answer.node_id, answer.host, answer.port)]
    return [
        (coordinator.error_code, coordinator.node_id, coordinator.host, coordinator.port)
        for coordinator in answer.coordinators
    ]


@pytest.mark.parametrize("version", stable(FindCoordinatorRequest))
async def test_the_only_broker_coordinates_every_group(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.serve_groups("a")
        answer = await served.ask(asking(version, GROUP, "a"), version)

        assert coordinators_of(answer, version) == [
            (0, 1, "127.0.0.1", served.broker.endpoint.port)
        ]


@pytest.mark.parametrize("version", [4, 5, 6])
async def test_many_keys_are_answered_in_the_order_of_the_request(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.serve_groups("a")
        answer = await served.ask(asking(version, GROUP, "b", "a", ""), version)

        assert [coordinator.key for coordinator in answer.coordinators] == ["b", "a", ""]
        assert {code for code, *_ in coordinators_of(answer, version)} == {0}
        assert (await served.ask(asking(version, GROUP), version)).coordinators == []


@pytest.mark.parametrize("version", stable(FindCoordinatorRequest))
async def test_the_first_request_for_a_group_creates_the_offsets_topic(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        answer = await served.ask(asking(version, GROUP, "a"), version)

        assert coordinators_of(answer, version) == [
            (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1, "", -1)
        ]
        await served.serve_groups("a")
        assert len(served.broker.metadata.image.topics["__consumer_offsets"].partitions) == 50


@pytest.mark.parametrize("version", stable(FindCoordinatorRequest)[1:])
async def test_the_first_request_for_a_transactional_id_creates_the_topic_of_transactions(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        answer = await served.ask(asking(version, TRANSACTION, "t"), version)

        assert coordinators_of(answer, version) == [
            (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1, "", -1)
        ]
        await serve_transactions(served, "t")
        assert len(served.broker.metadata.image.topics["__transaction_state"].partitions) == 50
        answer = await served.ask(asking(version, TRANSACTION, "t"), version)
        assert coordinators_of(answer, version) == [
            (0, 1, "127.0.0.1", served.broker.endpoint.port)
        ]


@pytest.mark.parametrize(
    ("version", "kind", "code"),
    [
        (5, SHARE, ErrorCode.INVALID_REQUEST),
        (6, SHARE, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (1, 3, ErrorCode.INVALID_REQUEST),
        (6, -1, ErrorCode.INVALID_REQUEST),
    ],
)
async def test_an_unsupported_key_type_is_refused_for_each_key(
    autojump_clock: MockClock, version: int, kind: int, code: ErrorCode
) -> None:
    async with broker() as served:
        answer = await served.ask(asking(version, kind, "a:b:0"), version)

        assert coordinators_of(answer, version) == [(code, -1, "", -1)]


@pytest.mark.parametrize("version", stable(FindCoordinatorRequest)[1:])
async def test_error_messages_equal_those_of_kafka_and_are_never_null(
    autojump_clock: MockClock, version: int
) -> None:
    """One answer names the code, also that of no error; rows say nothing."""
    async with broker() as served:
        await served.serve_groups("a")
        result = [
            await served.ask(asking(version, kind, "a"), version) for kind in (GROUP, TRANSACTION)
        ]

    if version < 4:
        assert [answer.error_message for answer in result] == ["NONE", "COORDINATOR_NOT_AVAILABLE"]
    else:
        assert [row.error_message for answer in result for row in answer.coordinators] == ["", ""]
