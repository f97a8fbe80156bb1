"""Stack of one task."""

from collections.abc import Callable

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from trio_kafka.introspect.tasks import walk_tasks
from trio_kafka_admin.readings.task_stacks import TaskStack, load_stackscope, stack_of


async def guarded() -> None:
    with trio.move_on_after(500), trio.CancelScope(deadline=trio.current_time() + 60, shield=True):
        with trio.move_on_after(90):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.sleep_forever, name="below")
                await innermost()


async def innermost() -> None:
    secret = "a password"
    await trio.sleep_forever()
    del secret


async def run_here(call: Callable[[], object]) -> None:
    """A thread would let the clock jump."""
    call()
    await trio.lowlevel.checkpoint()


async def stack(name: str) -> TaskStack:
    await load_stackscope(run_here)
    [task] = [task for _, _, task in walk_tasks() if task.name == name]
    return stack_of(task)


async def test_stack_has_frames_with_their_source_lines_from_the_outermost(
    autojump_clock: MockClock,
) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(guarded, name="guarded task")
        await wait_all_tasks_blocked()
        opened = await stack("guarded task")
        nursery.cancel_scope.cancel()

    own = [(frame.function, frame.code) for frame in opened.frames if frame.module == __name__]
    assert own == [
        ("guarded", "await innermost()"),
        ("innermost", "await trio.sleep_forever()"),
    ]
    assert opened.problem == ""
    assert "password" not in repr(opened)


async def test_frame_shows_its_scopes_and_the_tasks_of_its_nursery(
    autojump_clock: MockClock,
) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(guarded, name="guarded task")
        await wait_all_tasks_blocked()
        await trio.sleep(10)
        opened = await stack("guarded task")
        nursery.cancel_scope.cancel()

    [frame] = [frame for frame in opened.frames if frame.function == "guarded"]
    assert [(scope.kind, scope.words) for scope in frame.scopes] == [
        ("cancel scope", "deadline in 490.0 s"),
        ("cancel scope", "deadline in 50.0 s, shielded"),
        ("cancel scope", "deadline in 80.0 s"),
        ("nursery", "1 tasks: below"),
    ]
    assert opened.deadline_s == 50.0  # that of 490 s is outside of the shield
    assert not opened.cancelled


async def test_stack_of_a_task_that_is_being_cancelled_says_so(autojump_clock: MockClock) -> None:
    stacks = []

    async def stubborn() -> None:
        with trio.CancelScope() as scope:
            scope.cancel()
            with trio.CancelScope(shield=True):
                await trio.sleep(1)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(stubborn, name="stubborn task")
        await wait_all_tasks_blocked()
        stacks.append(await stack("stubborn task"))

    [opened] = stacks
    assert (opened.cancelled, opened.deadline_s) == (True, 1.0)  # that of its sleep
