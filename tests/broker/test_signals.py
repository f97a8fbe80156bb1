"""Signals of the process itself."""

import os
import signal
from collections.abc import Iterator

import pytest
import trio

from trio_kafka.broker.signals import SIGNALS, stop_signals


@pytest.fixture(autouse=True)
def hangup_is_not_ignored() -> Iterator[None]:
    """Have the usual SIGHUP, also where the whole suite runs under `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


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


async def test_sighup_asks_for_an_orderly_stop() -> None:
    async with stop_signals() as stop:
        stop.serving = True
        await send(signal.SIGHUP)
        await stop.asked.wait()

    assert not stop.at_once


@pytest.mark.parametrize("first", [signal.SIGHUP, signal.SIGTERM])
async def test_sighup_after_another_signal_does_not_end_the_broker_at_once(first: int) -> None:
    async with stop_signals() as stop:
        stop.serving = True
        await send(first)
        await stop.asked.wait()
        await send(signal.SIGHUP)
        await send(signal.SIGHUP)

    assert not stop.at_once


async def test_sigterm_after_sighup_is_the_first_of_its_kind_and_ends_nothing_at_once() -> None:
    async with stop_signals() as stop:
        stop.serving = True
        await send(signal.SIGHUP)
        await send(signal.SIGTERM)
        assert not stop.at_once
        os.kill(os.getpid(), signal.SIGINT)
        await trio.sleep_forever()

    assert stop.at_once


async def test_sighup_stays_ignored_in_a_process_that_nohup_started() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        async with stop_signals() as stop:
            await send(signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)

    assert not stop.asked.is_set()
