"""States of a broker are waited for."""

import pytest
import trio
from trio.testing import MockClock

from trio_kafka.testing.kafka.waiting import NotReachedError, wait_for


def test_wait_that_times_out_reports_the_records_found(kafka):
    kafka.produce("orders", b"x")
    assert len(kafka.wait_for_records("orders", 1)) == 1
    with pytest.raises(NotReachedError, match=r"orders has 1 records, not 2, after 0\.01 s"):
        kafka.wait_for_records("orders", 2, timeout_s=0.01)
    with pytest.raises(NotReachedError, match="a full moon: not reached"):
        kafka.wait_until(lambda: False, what="a full moon", timeout_s=0.01)


async def test_state_is_read_once_more_after_the_deadline(autojump_clock: MockClock) -> None:
    async def read() -> float:
        await trio.sleep(0.7)
        return trio.current_time()

    start = trio.current_time()
    state = await wait_for(
        read, lambda now: now - start > 1.5, unread=0.0, failure=str, timeout_s=1.0
    )

    assert state == pytest.approx(start + 1.7)


async def test_error_of_a_wait_shows_the_state_that_was_read_last(
    autojump_clock: MockClock,
) -> None:
    states = iter(range(1000))

    async def read() -> int:
        await trio.sleep(1.0)
        return next(states)

    with pytest.raises(NotReachedError, match=r"^state 2$"):
        await wait_for(
            read, lambda _: False, unread=-1, failure=lambda n: f"state {n}", timeout_s=2.5
        )
