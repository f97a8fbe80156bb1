"""Signals end a scope."""

import os
import signal

import trio

from trio_kafka.cli.records.interrupts import interruptible


def test_first_interrupt_cancels_the_block_and_handlers_are_restored() -> None:
    async def main() -> bool:
        with interruptible() as interrupts:
            os.kill(os.getpid(), signal.SIGINT)
            await trio.sleep(30)
        return interrupts.is_set

    before = signal.getsignal(signal.SIGTERM)

    assert trio.run(main)
    assert signal.getsignal(signal.SIGTERM) is before


def test_block_without_an_interrupt_is_left_alone() -> None:
    async def main() -> bool:
        with interruptible() as interrupts:
            await trio.lowlevel.checkpoint()
        return interrupts.is_set

    assert not trio.run(main)
