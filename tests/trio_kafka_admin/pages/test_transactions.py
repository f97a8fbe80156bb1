"""Transactions, as a page: the ids, what is open in partitions, and one id in full."""

import trio
from trio.testing import MockClock

from tests.apis.authorizers import allow_only
from tests.apis.transactional_ids import ID, begin, initialize
from tests.coordinators.transactions.test_open_transactions import hang
from tests.trio_kafka_admin.kit import DASH, admin_ui, table_of
from trio_kafka.plugin_host.transaction_access import read_transaction_as
from trio_kafka.security.principal import NOBODY

HOSTILE = "<script>alert(1)</script>"


async def test_list_shows_open_transactions_first_and_those_that_hang(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        await ui.served.create_topic("t")
        await initialize(ui.served, HOSTILE)
        await begin(ui.served)
        await hang(ui.served)
        await trio.sleep(20)

        page = await ui.page("/admin/transactions")
        first = await ui.json("/admin/api/transactions?limit=1")
        second = await ui.json("/admin/api/transactions?limit=1&first=1")

        rows = table_of(page, "transactions")
        assert [row["transactional id"] for row in rows] == [ID, HOSTILE]
        assert (rows[0]["state"], rows[0]["age"]) == ("Ongoing", "20 s")
        assert (rows[0]["aborted in"], rows[0]["waits for"]) == ("40 s", "its producer")
        assert (rows[1]["state"], rows[1]["age"]) == ("Empty", DASH)
        (row,) = table_of(page, "open")
        assert (row["topic"], row["partition"], row["verdict"]) == ("t", "0", "hanging")
        assert (row["from offset"], row["held back"]) == ("0", "2")
        assert row["transactional id"] == DASH
        assert [entry["transactional_id"] for entry in first["transactions"]] == [ID]
        assert [entry["transactional_id"] for entry in second["transactions"]] == [HOSTILE]
        assert (second["total"], second["first"]) == (2, 1)


async def test_one_id_is_shown_as_its_json_and_the_broker_have_it(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        await ui.served.create_topic("t", 3)
        await begin(ui.served, {"t": [0, 1, 2]})
        await hang(ui.served)

        page = await ui.page(f"/admin/transactions?name={ID}")
        twin = await ui.json(f"/admin/api/transactions?name={ID}")
        facts = await read_transaction_as(NOBODY, ui.served.broker.parts, ID)

        assert facts is not None
        assert twin["transaction"]["producer_id"] == facts.producer_id
        assert twin["transaction"]["partitions"] == {"t": [0, 1, 2]}
        assert twin["transactions"] == twin["open"] == []
        values = [fact.text for fact in page.find("main").find("dl").all("dd")]
        assert values[1] == "its producer"
        assert values[-2] == "3: t 0-2"


async def test_unknown_id_is_not_found_and_a_hidden_one_is_refused(
    autojump_clock: MockClock,
) -> None:
    async with admin_ui() as ui:
        await initialize(ui.served)
        await ui.json("/admin/api/transactions?name=none", status=404)
        ui.served.broker.parts.authorizer = allow_only("other")

        await ui.json(f"/admin/api/transactions?name={ID}", status=403)
        hidden = await ui.json("/admin/api/transactions")

        assert (hidden["total"], hidden["transactions"]) == (0, [])
