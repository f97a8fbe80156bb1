"""Throttled connections: the quota, its use, and the end of the wait."""

import trio
from trio.testing import MockClock

from tests.introspect.waiting import waiting
from tests.requests.test_connection_waits import throttled


async def test_throttled_connection_says_use_limit_and_end(autojump_clock: MockClock) -> None:
    async with waiting() as waits:
        before = trio.current_time()
        wait = await throttled(waits)
        passed = trio.current_time() - before

    assert wait.needs == 1000
    assert wait.has is not None
    assert wait.has > 1400
    assert wait.unit == "B/s"
    assert wait.left_s is not None
    assert 0 < wait.left_s < 10
    assert 0 < (wait.age_s or 0) <= passed
    assert wait.then == "it is read from again"
