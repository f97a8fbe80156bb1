"""A loop in a thread: calls, failures, its end."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from trio_kafka.errors import InvariantError
from trio_kafka.testing.kafka.threaded import running_broker
from trio_kafka.testing.loop_thread import LoopEndedError, LoopThread
from trio_kafka.world.clock import SkippingClock


def test_calls_to_an_ended_broker_are_refused():
    with running_broker() as kafka:
        pass
    with pytest.raises(LoopEndedError, match="trio-kafka: the loop has ended, with its block"):
        kafka.topics()
    assert kafka.thread.stack() == "the thread has ended"
    with pytest.raises(LoopEndedError):
        kafka.pause()


def test_failure_of_the_broker_is_raised_by_the_next_call_and_by_the_block():
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


def test_await_in_a_loop_with_an_autojump_clock_is_refused():
    async def main():
        await kafka.aio.topics()

    with running_broker() as kafka, pytest.raises(RuntimeError, match=r"jumps ahead \(autojump\)"):
        trio.run(main, clock=MockClock(autojump_threshold=0))


def test_stack_of_the_loop_thread_shows_the_blocking_call():
    with running_broker() as kafka:
        blocked = kafka.thread.hold()
        assert "resume.wait()" in kafka.thread.stack()
        blocked.set()


def note_error_of_call(thread: LoopThread[Any], errors: list[BaseException]) -> None:
    try:
        thread.call(trio.lowlevel.checkpoint)
    except BaseException as error:
        errors.append(error)


def test_a_call_while_the_block_is_left_is_refused_and_the_loop_ends_in_order():
    errors: list[BaseException] = []

    @asynccontextmanager
    async def block(_: SkippingClock) -> AsyncIterator[None]:
        yield
        await trio.to_thread.run_sync(note_error_of_call, thread, errors)

    thread = LoopThread(block)
    thread.start()
    thread.stop()

    [error] = errors
    assert isinstance(error, LoopEndedError)
    assert "the loop has ended, with its block" in str(error)


def test_a_call_while_the_loop_fails_raises_the_failure():
    errors: list[BaseException] = []

    caller = threading.Thread(target=lambda: note_error_of_call(thread, errors))
    is_called = threading.Event()

    async def fail() -> None:
        await trio.lowlevel.checkpoint()
        raise InvariantError("state is wrong")

    @asynccontextmanager
    async def block(_: SkippingClock) -> AsyncIterator[None]:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail)
            try:
                yield
            finally:
                caller.start()
                with trio.CancelScope(shield=True):
                    while not thread.calls:
                        await trio.sleep(0)
                    await wait_all_tasks_blocked()
                is_called.set()

    thread = LoopThread(block)
    thread.start()
    assert is_called.wait(30)
    caller.join()
    with pytest.raises(InvariantError, match="state is wrong"):
        thread.stop()

    [error] = errors
    assert isinstance(error, LoopEndedError)
    assert "has failed: InvariantError" in str(error)
    assert isinstance(error.__cause__, InvariantError)
