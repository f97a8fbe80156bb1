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
async def test_first_signal_requests_a_stop_and_the_second_signal_cancels(number: int) -> None:
    went_on = False
    async with stop_signals() as stop:
        stop.serving = True
        await send(number)
        await stop.requested.wait()
        assert not stop.starting.cancel_called
        assert not stop.at_once
        os.kill(os.getpid(), number)
        await trio.sleep_forever()
        went_on = True

    assert stop.at_once
    assert not went_on


async def test_signal_during_the_start_cancels_the_start() -> None:
    async with stop_signals() as stop:
        with stop.starting:
            os.kill(os.getpid(), signal.SIGTERM)
            await trio.sleep_forever()

    assert stop.starting.cancelled_caught
    assert not stop.at_once


async def test_signal_handlers_are_restored_when_no_signal_arrived() -> None:
    before = signal.getsignal(signal.SIGTERM)
    async with stop_signals() as stop:
        assert signal.getsignal(signal.SIGTERM) is not before

    assert not stop.requested.is_set()
    assert signal.getsignal(signal.SIGTERM) is before


async def test_sighup_requests_an_orderly_stop() -> None:
    async with stop_signals() as stop:
        stop.serving = True
        await send(signal.SIGHUP)
        await stop.requested.wait()

    assert not stop.at_once


@pytest.mark.parametrize("first", [signal.SIGHUP, signal.SIGTERM])
async def test_sighup_after_another_signal_does_not_end_the_broker_at_once(first: int) -> None:
    async with stop_signals() as stop:
        stop.serving = True
        await send(first)
        await stop.requested.wait()
        await send(signal.SIGHUP)
        await send(signal.SIGHUP)

    assert not stop.at_once


async def test_sigterm_after_sighup_counts_as_the_first_signal() -> None:
    async with stop_signals() as stop:
        stop.serving = True
        await send(signal.SIGHUP)
        await send(signal.SIGTERM)
        assert not stop.at_once
        os.kill(os.getpid(), signal.SIGINT)
        await trio.sleep_forever()

    assert stop.at_once


async def test_sighup_stays_ignored_in_a_process_started_by_nohup() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        async with stop_signals() as stop:
            await send(signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)

    assert not stop.requested.is_set()
