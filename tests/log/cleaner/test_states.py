import pytest
import trio
import trio.testing
from attrs import evolve

from tests.log.kit import PARTITION, new_log
from trio_kafka.log.cleaner.states import CleaningStates


async def test_log_is_not_free_and_is_claimed_during_a_run(autojump_clock, world):
    log, states = new_log(world), CleaningStates()

    with states.running(log):
        assert not states.is_free(log)
        assert log.writer.claim.name == "cleaning"

    assert states.is_free(log)
    assert log.writer.claim is None


async def test_pause_cancels_the_run_and_lets_no_other_run_begin(autojump_clock, world):
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


async def test_log_claimed_by_retention_is_not_free(autojump_clock, world):
    log, states = new_log(world), CleaningStates()

    with log.writer.claimed("retention"):
        assert not states.is_free(log)


async def test_deleted_log_is_removed_from_the_uncleanable_logs(autojump_clock, world):
    log, states = new_log(world), CleaningStates()
    states.uncleanable[log] = "damage"
    assert not states.is_free(log)

    log.abandon()
    states.forget(log)

    assert states.uncleanable == {}


@pytest.mark.parametrize(
    ("change", "ends"),
    [
        (lambda log: log.abandon(), True),
        (lambda log: log.configure(evolve(log.config, cleanup_policy=frozenset({"delete"}))), True),
        (lambda log: log.configure(evolve(log.config, retention_ms=1)), False),
    ],
)
async def test_run_ends_when_its_log_is_closed_or_no_longer_compacted(
    autojump_clock, world, change, ends
):
    log, states = new_log(world, cleanup_policy=frozenset({"compact"})), CleaningStates()

    reached = False
    with states.running(log):
        change(log)
        await trio.sleep(1)
        reached = True

    assert reached is not ends


async def test_run_is_not_revoked_when_another_log_of_its_partition_is_closed(
    autojump_clock, world
):
    states = CleaningStates()
    before, after = (
        new_log(world, "/a"),
        new_log(world, "/b", cleanup_policy=frozenset({"compact"})),
    )
    assert before.partition == after.partition

    with states.running(after) as claim:
        before.abandon()
        await trio.sleep(1)

    assert claim.revoked is None


async def test_postponed_log_is_ready_again_only_after_its_time(autojump_clock, world):
    log, states = new_log(world), CleaningStates()

    states.postpone(log, trio.current_time() + 10)

    assert (states.is_ready(log), states.is_free(log)) == (False, True)
    await trio.sleep(10)
    assert states.is_ready(log)


async def test_cleaners_are_notified_once_when_the_outermost_pause_ends(autojump_clock, world):
    ends, states = [], CleaningStates()
    states.on_free = lambda: ends.append(trio.current_time())

    async with states.paused(PARTITION):
        async with states.paused(PARTITION):
            pass
        assert ends == []

    assert len(ends) == 1


async def test_log_is_not_free_while_the_cleaner_applies_retention(autojump_clock, world):
    log, states = new_log(world), CleaningStates()

    with states.retaining(log):
        assert not states.is_free(log)
        assert states.is_usable(log)

    assert states.is_free(log)
