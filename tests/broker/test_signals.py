"""Signals of the process itself."""

import os
import signal

import pytest
import trio

from trio_kafka.broker.signals import SIGNALS, stop_signals


async def send(number: int) -> None:
    os.kill(os.getpid(), number)
    await trio.testing.wait_all_tasks_blocked(0.01)


@pytest.mark.parametrize("number", SIGNALS)
async def test_the_first_signal_asks_and_the_second_one_cancels(number: int) -> None:
    went_on = False
    async with stop_signals() as stop:
        stop.serving = True
        await send(number)
        await stop.asked.wait()
        assert not stop.starting.cancel_called
        assert not stop.at_once
        os.kill(os.getpid(), number)
        await trio.sleep_forever()
        went_on = True

    assert stop.at_once
    assert not went_on


async def test_a_signal_during_the_start_cancels_it() -> None:
    async with stop_signals() as stop:
        with stop.starting:
            os.kill(os.getpid(), signal.SIGTERM)
            await trio.sleep_forever()

    assert stop.starting.cancelled_caught
    assert not stop.at_once


async def test_without_a_signal_nothing_is_asked_and_handlers_are_as_before() -> None:
    before = signal.getsignal(signal.SIGTERM)
    async with stop_signals() as stop:
        assert signal.getsignal(signal.SIGTERM) is not before

    assert not stop.asked.is_set()
    assert signal.getsignal(signal.SIGTERM) is before
