"""Names replaced by pseudonyms."""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import broker
from tests.apis.transactional_ids import initialize
from trio_kafka.introspect.recent_requests import RecentRequests
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
)
from trio_kafka_admin.downloads.anonymizing import Pseudonyms, pseudonyms

NAMES = [
    ("topic", "ledger"),
    ("topic", "ledger.entries"),
    ("group", "settlement"),
    ("group", "ledger"),  # a topic has this name, too
    ("client", "import job (night)"),
    ("client", "x\x00y"),
    ("client", "z" * 1000),
    ("directory", "/data/kafka"),
    ("host", "::1"),
]


@pytest.mark.parametrize(
    ("text", "replaced"),
    [
        ("ledger", "topic-1"),
        ("ledger-12", "topic-1-12"),
        ("ledger.entries-0 waits", "topic-2-0 waits"),
        ("ledgers", "ledgers"),
        ("group settlement lags by 12 records.", "group group-1 lags by 12 records."),
        ("group settlement.", "group group-1."),
        ("of import job (night), for 3 s", "of client-1, for 3 s"),
        ("x\\x00y", "client-2"),
        (f"{'z' * 300}... (1000 characters)", "client-3"),
        ("/data/kafka/ledger-0/0.log", "directory-1/topic-1-0/0.log"),
        ("[::1]:9092", "[host-1]:9092"),
        ("10.0.0.7:9092", "address:9092"),
        ("nothing of ours", "nothing of ours"),
    ],
)
def test_whole_names_in_a_text_are_replaced(text: str, replaced: str) -> None:
    assert Pseudonyms(NAMES).text(text) == replaced


async def test_texts_and_keys_of_data_are_replaced_and_numbers_kept() -> None:
    data = {"ledger": [1, None, True, {"group": "settlement"}], "size": 2.5}

    replaced = await Pseudonyms(NAMES).replaced(data)

    assert replaced == {"topic-1": [1, None, True, {"group": "group-1"}], "size": 2.5}


async def test_clients_that_have_left_have_pseudonyms_too(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("orders")
        await served.serve_groups("g")
        async with served.connect() as gone:
            gone.client_id = "closed-client"
            await gone.ask(ApiVersionsRequest("soft", "1.0"), 3)
        async with served.connect() as member:
            member.client_id = "left-client"
            for epoch in (0, -1):
                request = ConsumerGroupHeartbeatRequest(
                    group_id="g",
                    member_id="m" * 22,
                    member_epoch=epoch,
                    rebalance_timeout_ms=60_000,
                    subscribed_topic_names=["orders"],
                    topic_partitions=[],
                )
                assert (await member.ask(request, 1)).error_code == 0
        await trio.sleep(1)  # the closes cross the network
        parts = served.broker.parts
        for plane in parts.planes:  # as if their requests were forgotten
            for _, metrics in plane.request_metrics.settled():
                metrics.recent = RecentRequests(0)

        names = await pseudonyms(parts)

    assert names.text("closed-client").startswith("client-")
    assert names.text("left-client").startswith("client-")


async def test_transactional_ids_have_pseudonyms(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await initialize(served, "payroll")

        names = await pseudonyms(served.broker.parts)

    assert names.text("payroll is open") == "transactional-id-1 is open"
