"""The queue of events: bounded, in order, and not held up by a sink that fails."""

from collections.abc import Sequence
from typing import Any

import trio
from attrs import define, field
from trio.testing import MockClock

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.metrics import Counter
from trio_kafka.introspect.tree import Node
from trio_kafka_builtin.audit.event_writer import EventWriter, line_of


@define(eq=False)
class Kept:
    lines: list[str] = field(factory=list)
    going: trio.Event = field(factory=trio.Event)
    error: Exception | None = None

    async def write(self, lines: Sequence[str]) -> None:
        await self.going.wait()
        if self.error is not None:
            raise self.error
        self.lines += lines


def writer_of(*sinks: Any, bound: int = 100) -> tuple[EventWriter, Counter, Counter, Node]:
    dropped, failed, node = Counter(), Counter(), Node("audit", "plugin")
    logger = get_logger("trio_kafka.plugin.audit")
    event_writer = EventWriter(
        sinks, node, bound=bound, dropped=dropped, failed=failed, logger=logger
    )
    return event_writer, dropped, failed, node


async def test_events_above_the_bound_of_the_queue_are_dropped_and_counted(
    autojump_clock: MockClock,
) -> None:
    sink = Kept()
    writer, dropped, _, node = writer_of(sink, bound=3)
    async with trio.open_nursery() as nursery:
        await nursery.start(writer.run)
        for number in range(5):
            writer.take({"n": number})
        (channel,) = node.children
        figures = channel.figures()
        sink.going.set()
        await writer.drain()
        nursery.cancel_scope.cancel()

    assert sink.lines == [line_of({"n": number}) for number in range(3)]
    assert dropped.value == 2
    assert (figures["depth"], figures["high_water"], figures["bound"]) == (3, 3, 3)
    assert channel.figures()["items"] == 3


async def test_more_than_a_thousand_events_are_written_in_order(autojump_clock: MockClock) -> None:
    sink = Kept()
    sink.going.set()
    writer, *_ = writer_of(sink, bound=2000)
    async with trio.open_nursery() as nursery:
        await nursery.start(writer.run)
        for number in range(1500):
            writer.take({"n": number})
        await writer.drain()
        nursery.cancel_scope.cancel()

    assert sink.lines == [f'{{"n":{number}}}' for number in range(1500)]


async def test_a_failing_sink_does_not_affect_other_sinks(autojump_clock: MockClock) -> None:
    broken, kept = Kept(error=KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "no disk")), Kept()
    broken.going.set()
    kept.going.set()
    writer, _, failed, _ = writer_of(broken, kept)
    async with trio.open_nursery() as nursery:
        await nursery.start(writer.run)
        writer.take({"n": 1})
        await writer.drain()
        writer.take({"n": 2})
        await writer.drain()
        nursery.cancel_scope.cancel()

    assert kept.lines == ['{"n":1}', '{"n":2}']
    assert failed.value == 2
