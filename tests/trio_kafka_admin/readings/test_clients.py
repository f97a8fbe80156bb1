"""Readings of clients for pages."""

import pytest
from trio.testing import MockClock

from tests.apis.authorizers import deny_all
from tests.trio_kafka_admin.test_broker_reader import reader_and_ui
from trio_kafka.errors import KafkaError


async def test_reader_gives_clients_and_one_of_them(autojump_clock: MockClock) -> None:
    async with reader_and_ui() as (reader, ui):
        await ui.served.create_topic("t")

        page = await reader.client_page(of="", first=0, most=9)
        details = await reader.client("scripted", most=9)

        assert [client.client_id for client in page.clients] == ["scripted"]
        assert len(details.connections) == 1
        assert reader.is_current
        ui.served.broker.parts.authorizer = deny_all()
        assert not reader.is_current
        with pytest.raises(KafkaError):
            await reader.client_page(of="", first=0, most=9)
