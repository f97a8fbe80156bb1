"""Readings of groups for pages."""

import pytest
from trio.testing import MockClock

from tests.apis.authorizers import deny_all
from tests.apis.kit import write
from tests.apis.test_k09_offset_fetch import commit
from tests.trio_kafka_admin.test_broker_reader import reader_and_ui
from trio_kafka.errors import KafkaError
from trio_kafka.plugin_host.group_access import read_groups_as
from trio_kafka.security.principal import NOBODY


async def test_reader_gives_the_facts_of_groups(autojump_clock: MockClock) -> None:
    async with reader_and_ui() as (reader, ui):
        await ui.served.create_topic("t")
        await write(ui.served, "t", b"a", b"b")
        await ui.served.serve_groups("g", "h")
        await commit(ui.served, "g", "t", 0, 1)
        await commit(ui.served, "h", "t", 0, 0)

        groups = await reader.groups()

        assert [group.group_id for group in groups] == ["h", "g"]
        assert groups == await read_groups_as(NOBODY, ui.served.broker.parts)
        assert list(groups[1:]) == await reader.groups(only="g")
        assert list(groups[:1]) == await reader.groups(most=1)


async def test_reader_asks_for_permissions(autojump_clock: MockClock) -> None:
    async with reader_and_ui() as (reader, ui):
        await ui.served.serve_groups("g")
        ui.served.broker.parts.authorizer = deny_all()

        assert await reader.groups() == []
        with pytest.raises(KafkaError, match="on group g"):
            await reader.groups(only="g")
