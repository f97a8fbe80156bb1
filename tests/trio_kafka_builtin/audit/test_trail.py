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
from trio_kafka_builtin.audit.trail import Trail, line_of


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


def trail_of(*sinks: Any, bound: int = 100) -> tuple[Trail, Counter, Counter, Node]:
    dropped, failed, node = Counter(), Counter(), Node("audit", "plugin")
    logger = get_logger("trio_kafka.plugin.audit")
    made = Trail(sinks, node, bound=bound, dropped=dropped, failed=failed, logger=logger)
    return made, dropped, failed, node


async def test_what_finds_the_queue_full_is_dropped_and_counted(autojump_clock: MockClock) -> None:
    sink = Kept()
    trail, dropped, _, node = trail_of(sink, bound=3)
    async with trio.open_nursery() as nursery:
        await nursery.start(trail.run)
        for number in range(5):
            trail.take({"n": number})
        (channel,) = node.children
        figures = channel.figures()
        sink.going.set()
        await trail.drain()
        nursery.cancel_scope.cancel()

    assert sink.lines == [line_of({"n": number}) for number in range(3)]
    assert dropped.value == 2
    assert (figures["depth"], figures["high_water"], figures["bound"]) == (3, 3, 3)
    assert channel.figures()["items"] == 3


async def test_events_of_a_thousand_keep_their_order(autojump_clock: MockClock) -> None:
    sink = Kept()
    sink.going.set()
    trail, *_ = trail_of(sink, bound=2000)
    async with trio.open_nursery() as nursery:
        await nursery.start(trail.run)
        for number in range(1500):
            trail.take({"n": number})
        await trail.drain()
        nursery.cancel_scope.cancel()

    assert sink.lines == [f'{{"n":{number}}}' for number in range(1500)]


async def test_a_sink_that_fails_keeps_others_from_nothing(autojump_clock: MockClock) -> None:
    broken, kept = Kept(error=KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "no disk")), Kept()
    broken.going.set()
    kept.going.set()
    trail, _, failed, _ = trail_of(broken, kept)
    async with trio.open_nursery() as nursery:
        await nursery.start(trail.run)
        trail.take({"n": 1})
        await trail.drain()
        trail.take({"n": 2})
        await trail.drain()
        nursery.cancel_scope.cancel()

    assert kept.lines == ['{"n":1}', '{"n":2}']
    assert failed.value == 2
