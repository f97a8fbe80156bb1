import pytest
import trio

from trio_kafka.broker.tasks import Tasks
from trio_kafka.errors import LogDirError


async def waits(value: object = None, *, task_status: trio.TaskStatus[object]) -> None:
    task_status.started(value)
    await trio.sleep_forever()


async def fails(error: Exception, *, task_status: trio.TaskStatus[None]) -> None:
    task_status.started()
    await trio.sleep(1)
    raise error


async def fails_at_once(error: Exception, *, task_status: trio.TaskStatus[None]) -> None:
    await trio.lowlevel.checkpoint()
    raise error


async def test_task_returns_its_start_value_and_is_stopped_by_name(autojump_clock) -> None:
    async with trio.open_nursery() as nursery:
        tasks = Tasks(nursery)
        assert await tasks.start("one", waits, 1) == 1
        assert await tasks.start("two", waits, 2) == 2
        assert tasks.running == ("one", "two")

        await tasks.stop("two", "no such task")
        await tasks.stop("two")

        assert tasks.running == ("one",)
        assert (tasks.runs("one"), tasks.runs("two"), tasks.runs("three")) == (True, False, False)
        await tasks.stop("one")
    assert tasks.failure is None


async def test_task_that_fails_before_being_ready_fails_its_start(autojump_clock) -> None:
    async with trio.open_nursery() as nursery:
        tasks = Tasks(nursery)

        with pytest.raises(ValueError, match="no"):
            await tasks.start("one", fails_at_once, ValueError("no"))

        assert (tasks.failure, tasks.running) == (None, ())


def lost(error: Exception) -> Exception:
    """The failure that an I/O error stands for."""
    return LogDirError("/data", "lost") if isinstance(error, OSError) else error


async def test_task_fails_with_the_failure_that_its_exception_stands_for(autojump_clock) -> None:
    broken, bug = OSError("broken"), ValueError("bug")
    for error in (broken, bug):
        async with trio.open_nursery() as nursery:
            tasks = Tasks(nursery)
            with pytest.raises((LogDirError, ValueError)) as before_start:
                await tasks.start("one", fails_at_once, error, cause=lost)
            await tasks.start("two", fails, error, cause=lost)
            with tasks.guard:
                await trio.sleep_forever()

        for failure in (before_start.value, tasks.failure):
            if error is bug:
                assert failure is bug
            else:
                assert isinstance(failure, LogDirError)
                assert failure.__cause__ is broken


async def test_first_failure_is_kept_and_cancels_only_the_guarded_block(autojump_clock) -> None:
    first, second = ValueError("first"), ValueError("second")
    async with trio.open_nursery() as nursery:
        tasks = Tasks(nursery)
        await tasks.start("other", waits)
        await tasks.start("one", fails, ExceptionGroup("g", [ExceptionGroup("g", [first])]))
        with tasks.guard:
            await trio.sleep_forever()

        assert trio.current_time() == 1
        assert tasks.failure is first
        assert tasks.running == ("other",)
        tasks.fail(second)
        assert tasks.failure is first
        await tasks.stop("other")
