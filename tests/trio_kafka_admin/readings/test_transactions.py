"""Readings of transactions."""

from trio.testing import MockClock

from tests.apis.kit import broker
from tests.apis.transactional_ids import ID, begin
from tests.coordinators.transactions.test_open_transactions import hang
from trio_kafka.security.principal import NOBODY
from trio_kafka_admin.readings.transactions import (
    read_open_transactions,
    read_transaction,
    read_transaction_page,
)


async def test_transactions_are_read_for_a_principal(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await begin(served)
        await hang(served)
        parts = served.broker.parts

        page = await read_transaction_page(parts, NOBODY, of="pay", first=0, most=5, only_open=True)
        single = await read_transaction(parts, NOBODY, ID)
        opened = await read_open_transactions(parts, NOBODY, most=5)

    assert [row.transactional_id for row in page.transactions] == [ID]
    assert single is not None
    assert single.state == "Ongoing"
    assert [row.verdict for row in opened.listed] == ["hanging"]
