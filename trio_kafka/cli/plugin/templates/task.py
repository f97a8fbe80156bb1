"""Template of a plugin that runs a task."""

from typing import Final

ABOUT: Final = """It writes a record with the number of topics to a topic at regular times."""
SETTINGS: Final = """\
| `plugin.@NAME@.topic` | `@NAME@` | Topic for the records. |
| `plugin.@NAME@.interval.ms` | `60000` | Milliseconds between two records. |"""
MODULE: Final = '''\
"""Write the number of topics to a topic at regular times."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from trio_kafka.attributes import frozen
from trio_kafka.plugin import KafkaError, PluginContext, Record, integer, plugin, string


@frozen(kw_only=True)
class @CLASS@Settings:
    """Settings `plugin.@NAME@.<name>`; a `_` in a field is a `.` in its setting."""

    topic: str = string("@NAME@", "Topic for the records.")
    interval_ms: int = integer(60_000, "Milliseconds between two records.", low=10)


@plugin("@NAME@", settings=@CLASS@Settings)
@asynccontextmanager
async def @MODULE@(context: PluginContext[@CLASS@Settings]) -> AsyncIterator[None]:
    """Write the number of topics to a topic."""
    settings = context.settings

    async def write(*, task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        while True:
            await trio.sleep(settings.interval_ms / 1000)
            count = len(context.parts.metadata.image.topics)
            try:
                await context.produce(settings.topic, [Record(value=b"%d topics" % count)])
            except KafkaError as error:  # the next record may be written
                context.logger.warning("record not written", reason=str(error))

    await context.start("write", write)  # cancelled after the block has been left
    yield
'''
TESTS: Final = '''\
"""The plugin in a broker of the test kit: the test moves the clock instead of waiting."""

import pytest

from @MODULE@ import @MODULE@


@pytest.mark.kafka(plugins=[@MODULE@], topics=["orders"])
def test_a_record_is_written_after_the_interval(kafka) -> None:
    kafka.advance(minutes=1)
    kafka.wait_for_records("@NAME@", 1)

    assert kafka.records("@NAME@")[0].text.endswith(" topics")


@pytest.mark.kafka(plugins=[@MODULE@], settings={"plugin.@NAME@.interval.ms": "1000"})
def test_the_interval_is_a_setting(kafka) -> None:
    kafka.advance(seconds=3)
    kafka.wait_for_records("@NAME@", 2)
'''
