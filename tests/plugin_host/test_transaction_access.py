"""Facts of transactions for plugins, and what a principal may see of them."""

import pytest
from trio.testing import MockClock

from tests.apis.authorizers import RuleAuthorizer, allow_only, deny_all
from tests.apis.kit import broker
from tests.apis.transactional_ids import ID, begin, initialize
from tests.coordinators.transactions.test_open_transactions import hang
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.plugin_host.transaction_access import (
    read_open_transactions_as,
    read_transaction_as,
    read_transaction_page_as,
)
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import NOBODY
from trio_kafka.security.resources import ResourceType


async def test_ids_are_read_in_pages_with_open_transactions_first(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await initialize(served, "a")
        await initialize(served, "b")
        await begin(served)
        parts = served.broker.parts

        page = await read_transaction_page_as(NOBODY, parts, most=2)
        second = await read_transaction_page_as(NOBODY, parts, first=2, most=2)
        opened = await read_transaction_page_as(NOBODY, parts, most=9, only_open=True)
        searched = await read_transaction_page_as(NOBODY, parts, of="B", most=9)
        single = await read_transaction_as(NOBODY, parts, ID)

        assert await read_transaction_as(NOBODY, parts, "none") is None
    assert [row.transactional_id for row in page.transactions] == [ID, "a"]
    assert [row.transactional_id for row in second.transactions] == ["b"]
    assert [row.transactional_id for row in opened.transactions] == [ID]
    assert [row.transactional_id for row in searched.transactions] == ["b"]
    assert (page.total, opened.total, searched.total) == (3, 1, 1)
    assert single is not None
    assert (single.state, single.partitions) == ("Ongoing", {"t": (0,)})


async def test_hidden_ids_and_topics_are_left_out(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await initialize(served, "a")
        await begin(served)
        await hang(served)
        parts = served.broker.parts

        parts.authorizer = allow_only(ID)
        page = await read_transaction_page_as(NOBODY, parts, most=9)
        hidden = await read_open_transactions_as(NOBODY, parts, most=9)
        with pytest.raises(KafkaError) as caught:
            await read_transaction_as(NOBODY, parts, "a")
        parts.authorizer = deny_all()
        nothing = await read_transaction_page_as(NOBODY, parts, most=9)
        parts.authorizer = rule = RuleAuthorizer(lambda _operation, _resource: True)
        opened = await read_open_transactions_as(NOBODY, parts, most=9)

    (row,) = page.transactions
    assert (row.transactional_id, row.partitions, row.partitions_total) == (ID, {}, 1)
    assert caught.value.code is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert (nothing.total, hidden.total, opened.total) == (0, 0, 1)
    assert (Operation.READ, ResourceType.TOPIC) in rule.decisions
