"""Readings of topics for pages, in the order of their traffic."""

import trio
from trio.testing import MockClock

from tests.apis.kit import write
from tests.trio_kafka_admin.test_broker_reader import reader_and_ui


async def test_topics_with_traffic_come_first_at_the_second_look(
    autojump_clock: MockClock,
) -> None:
    async with reader_and_ui() as (reader, ui):
        for name in ("a", "b", "c"):
            await ui.served.create_topic(name)
            await write(ui.served, name, b"x")
        first = await reader.topic_page(of="", first=0, most=9)
        await trio.sleep(2)
        await write(ui.served, "c", b"x")
        second = await reader.topic_page(of="", first=0, most=9)

        assert [topic.name for topic in first.topics] == ["a", "b", "c"]
        assert [topic.name for topic in second.topics] == ["c", "a", "b"]


async def test_one_topic_is_read_by_its_name(autojump_clock: MockClock) -> None:
    async with reader_and_ui() as (reader, ui):
        await ui.served.create_topic("a")

        details = await reader.topic("a", most=9)

        assert details is not None
        assert details.facts.name == "a"
        assert await reader.topic("none", most=9) is None
