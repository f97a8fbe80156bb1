"""A loop in a thread: calls, failures, its end."""

import pytest
import trio
from trio.testing import MockClock

from trio_kafka.errors import InvariantError
from trio_kafka.testing.kafka.threaded import running_broker
from trio_kafka.testing.loop_thread import LoopEndedError


def test_a_broker_that_has_ended_says_so():
    with running_broker() as kafka:
        pass
    with pytest.raises(LoopEndedError, match="trio-kafka: the loop has ended, with its block"):
        kafka.topics()
    assert kafka.thread.stack() == "the thread has ended"
    with pytest.raises(LoopEndedError):
        kafka.pause()


def test_a_broker_that_fails_is_named_by_the_next_call_and_raised_at_the_end():
    with pytest.raises(InvariantError, match="state is wrong"), running_broker() as kafka:

        async def fail():
            kafka.broker.tasks.fail(InvariantError("state is wrong"))
            await trio.sleep_forever()

        for call in (lambda: kafka.thread.call(fail), kafka.topics):
            with pytest.raises(LoopEndedError, match="has failed: InvariantError"):
                call()


def test_a_blocking_call_in_the_brokers_own_loop_is_refused():
    with running_broker() as kafka:

        async def call():
            kafka.topics()

        with pytest.raises(RuntimeError, match="await the method instead"):
            kafka.thread.call(call)


def test_a_loop_whose_clock_jumps_is_refused():
    async def main():
        await kafka.aio.topics()

    with running_broker() as kafka, pytest.raises(RuntimeError, match=r"jumps ahead \(autojump\)"):
        trio.run(main, clock=MockClock(autojump_threshold=0))


def test_it_says_where_it_is():
    with running_broker() as kafka:
        blocked = kafka.thread.hold()
        assert "resume.wait()" in kafka.thread.stack()
        blocked.set()
