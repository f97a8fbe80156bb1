"""Periodic jobs and timers as parts of the node."""

import trio
from trio.testing import MockClock

from tests.broker.kit import APIS, config_of
from trio_kafka.broker import Broker
from trio_kafka.broker.parts.clocks import SCHEDULER, TIMERS
from trio_kafka.purgatory import Timers


async def test_due_jobs_and_timers_are_called(world, autojump_clock: MockClock) -> None:
    called: list[str] = []

    async with Broker(config_of(), world, format_if_empty=True, apis=APIS) as broker:
        broker.parts.scheduler.every("own", 1.0, lambda: called.append("job"))
        broker[Timers].at(trio.current_time() + 0.5, lambda: called.append("timer"))
        await trio.sleep(1.2)

    assert called == ["timer", "job"]
    assert broker.tasks.running == ()


def test_timers_of_parked_requests_stop_after_the_scheduler() -> None:
    (of_jobs,), (of_timers,) = SCHEDULER.stops, TIMERS.stops

    assert (of_jobs.value, of_timers.value) == ("scheduler", "replication")
