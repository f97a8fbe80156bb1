"""ListTransactions: filters of all versions, and what a client may not see."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.apis.authorizers import RuleAuthorizer
from tests.apis.kit import broker, stable
from tests.apis.transactional_ids import ID, begin, initialize
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k66_list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)


def names(answer: ListTransactionsResponse) -> list[str]:
    assert answer.error_code == 0
    return sorted(row.transactional_id for row in answer.transaction_states)


@pytest.mark.parametrize("version", stable(ListTransactionsRequest))
async def test_all_ids_are_listed_with_their_states(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await begin(served)
        await initialize(served, "idle")

        answer = await served.ask(ListTransactionsRequest([], []), version)

        assert names(answer) == ["idle", ID]
        assert {row.transaction_state for row in answer.transaction_states} == {"Empty", "Ongoing"}


@pytest.mark.parametrize(
    ("fields", "listed"),
    [
        ({"state_filters": ["Ongoing"]}, [ID]),
        ({"state_filters": ["Ongoing", "none"]}, [ID]),
        ({"state_filters": ["none"]}, []),
        ({"state_filters": ["PrepareEpochFence"]}, []),
        ({"producer_id_filters": [77]}, []),
        ({"producer_id_filters": [0]}, [ID]),
        ({"duration_filter": 1000}, [ID]),
        ({"duration_filter": 100_000_000}, []),
        ({"transactional_id_pattern": "pay.*"}, [ID]),
        ({"transactional_id_pattern": "pay"}, []),
    ],
)
async def test_filters_narrow_the_list(
    autojump_clock: MockClock, fields: dict[str, Any], listed: list[str]
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await begin(served)
        await initialize(served, "idle")
        await trio.sleep(2)

        answer = await served.ask(ListTransactionsRequest(**fields), 2)

        assert names(answer) == listed
        unknown = [name for name in fields.get("state_filters", ()) if name == "none"]
        assert answer.unknown_state_filters == unknown


async def test_invalid_pattern_is_an_error(autojump_clock: MockClock) -> None:
    async with broker() as served:
        answer = await served.ask(ListTransactionsRequest(transactional_id_pattern="("), 2)

        assert answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


async def test_ids_without_permission_are_left_out(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await initialize(served, "mine")
        await initialize(served, "other")
        served.broker.parts.authorizer = RuleAuthorizer(
            lambda operation, resource: resource.name == "mine"
        )

        assert names(await served.ask(ListTransactionsRequest(), 1)) == ["mine"]
