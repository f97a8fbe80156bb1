"""DescribeTransactions: states, partitions, and what a client may not see."""

from trio.testing import MockClock

from tests.apis.authorizers import RuleAuthorizer
from tests.apis.kit import broker
from tests.apis.transactional_ids import ID, begin, serve_transactions
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k65_describe_transactions import (
    DescribeTransactionsRequest,
    TopicData,
)


async def test_transactions_are_described_in_order_and_once(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t", partitions=3)
        await served.create_topic("u")
        await serve_transactions(served, "unknown")
        identity = await begin(served, {"u": [0], "t": [2, 0]})

        answer = await served.ask(DescribeTransactionsRequest(["unknown", ID, ID]), 0)

        unknown, row = answer.transaction_states
        assert unknown.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        assert (row.error_code, row.transactional_id) == (0, ID)
        assert row.transaction_state == "Ongoing"
        assert (row.producer_id, row.producer_epoch) == (identity.producer_id, identity.epoch)
        assert row.transaction_timeout_ms == 60_000
        assert row.transaction_start_time_ms > 0
        assert row.topics == [TopicData("t", [0, 2]), TopicData("u", [0])]


async def test_ids_and_topics_without_permission_are_not_shown(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.create_topic("u")
        await begin(served, {"t": [0], "u": [0]})
        served.broker.parts.authorizer = RuleAuthorizer(
            lambda operation, resource: resource.name in (ID, "u")
        )

        answer = await served.ask(DescribeTransactionsRequest([ID, "other"]), 0)

        row, denied = answer.transaction_states
        assert row.topics == [TopicData("u", [0])]
        assert denied.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
