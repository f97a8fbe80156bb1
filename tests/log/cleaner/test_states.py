import trio
import trio.testing

from tests.log.kit import PARTITION, new_log
from trio_kafka.log.cleaner.states import CleaningStates


async def test_a_log_is_free_until_it_is_at_work(autojump_clock, world):
    log, states = new_log(world), CleaningStates()

    with states.running(log):
        assert not states.is_free(log)
        assert log.writer.claim.name == "cleaning"

    assert states.is_free(log)
    assert log.writer.claim is None


async def test_a_pause_cancels_the_run_and_keeps_others_away(autojump_clock, world):
    log, states = new_log(world), CleaningStates()

    async def run():
        with states.running(log):
            await trio.sleep_forever()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        await trio.testing.wait_all_tasks_blocked()
        async with states.paused(PARTITION):
            assert log.writer.claim is None
            async with states.paused(PARTITION):
                pass
            assert not states.is_free(log)

    assert states.is_free(log)


async def test_a_log_in_retention_is_left_alone(autojump_clock, world):
    log, states = new_log(world), CleaningStates()

    with log.writer.claimed("retention"):
        assert not states.is_free(log)


async def test_a_log_that_was_set_aside_is_forgotten_when_it_is_deleted(autojump_clock, world):
    log, states = new_log(world), CleaningStates()
    states.set_aside[log] = "damage"
    states.forget_closed()
    assert not states.is_free(log)

    log.abandon()
    states.forget_closed()

    assert states.set_aside == {}
