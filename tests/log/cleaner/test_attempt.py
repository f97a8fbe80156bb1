"""Consequences of each kind of failure for the log, and for its disk."""

import pytest
import trio

from tests.log.cleaner.logs import managed, new_log
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError, LogDirError
from trio_kafka.log.batch_lookup import CutBatchError
from trio_kafka.log.cleaner.attempt import Failure, attempt
from trio_kafka.log.cleaner.job import CleaningError
from trio_kafka.log.cleaner.states import CleaningStates
from trio_kafka.log.cleaner.swap import SupersededError
from trio_kafka.log.errors import LogClosedError, NoDescriptorError
from trio_kafka.world.world import WorkerLostError


async def attempted(world, error, *, closed=False):
    """Attempt what raises `error`. Return the result, the log, its directory and the states."""
    manager = await managed(world)
    log, states = new_log(manager), CleaningStates()
    (directory,) = manager.directories

    async def fail():
        await trio.lowlevel.checkpoint()
        if closed:
            log.abandon()
        raise error

    return await attempt(states, log, directory, call=fail), log, directory, states


async def test_the_result_of_an_attempt_is_returned(autojump_clock, world):
    manager = await managed(world)
    log = new_log(manager)

    async def succeed():
        await trio.lowlevel.checkpoint()
        return 5

    assert await attempt(CleaningStates(), log, manager.directories[0], call=succeed) == 5


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "no space"),
        OSError(122, "no quota"),
        OSError(24, "no descriptor"),
        NoDescriptorError("x.log"),
        WorkerLostError("killed"),
        SupersededError("cut"),
        KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, "cut meanwhile"),
    ],
)
async def test_passing_error_neither_sets_log_aside_nor_takes_directory_offline(
    autojump_clock, world, error, caplog
):
    failure, log, directory, states = await attempted(world, error)

    assert failure is Failure.PASSING
    assert not states.uncleanable
    assert (log.failed, directory.offline) == (None, None)
    assert "cleaning abandoned" in caplog.text or isinstance(error, SupersededError)


@pytest.mark.parametrize("number", [5, 30, 13])
async def test_disk_error_takes_log_directory_offline(autojump_clock, world, number):
    failure, log, directory, states = await attempted(world, OSError(number, "broken"))

    assert failure is Failure.FINAL
    assert directory.offline is not None
    assert log.failed is not None
    assert not states.uncleanable


@pytest.mark.parametrize(
    "error",
    [
        CleaningError("/data/c-0/0.log", 7, "damage"),
        CutBatchError(7, 99),
        KafkaError(ErrorCode.CORRUPT_MESSAGE, "damage"),
        ZeroDivisionError("a bug"),
    ],
)
async def test_log_is_uncleanable_after_damage_or_a_bug_in_the_cleaner(
    autojump_clock, world, error, caplog
):
    failure, log, directory, states = await attempted(world, error)

    assert failure is Failure.FINAL
    assert type(error).__name__ in states.uncleanable[log]
    assert (log.failed, directory.offline) == (None, None)
    assert "partition marked uncleanable" in caplog.text


@pytest.mark.parametrize(
    "error", [LogClosedError("c-0 is closed"), LogDirError("/data", "offline")]
)
async def test_error_of_a_closed_or_failed_log_sets_no_log_aside_and_no_directory_offline(
    autojump_clock, world, error
):
    failure, _, directory, states = await attempted(world, error)

    assert failure is Failure.FINAL
    assert (states.uncleanable, directory.offline) == ({}, None)


@pytest.mark.parametrize("error", [CleaningError("x", 0, "damage"), WorkerLostError("killed")])
async def test_log_deleted_during_the_attempt_is_not_uncleanable(autojump_clock, world, error):
    failure, _, _, states = await attempted(world, error, closed=True)

    assert failure is Failure.FINAL
    assert not states.uncleanable


async def test_attempt_raises_invariant_errors(autojump_clock, world):
    manager = await managed(world)

    async def fail():
        await trio.lowlevel.checkpoint()
        raise InvariantError("broken")

    with pytest.raises(InvariantError):
        await attempt(CleaningStates(), new_log(manager), manager.directories[0], call=fail)
