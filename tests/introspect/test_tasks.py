"""Running tasks, each below its owner."""

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from trio_kafka.introspect.declared_waits import CONTROLLER, waits_for, waits_for_work
from trio_kafka.introspect.tasks import find_task, list_tasks, place_of, walk_tasks


async def owner() -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep_forever, name="below")
        nursery.start_soon(trio.sleep_forever, name="below")
        nursery.start_soon(trio.sleep_forever, name="x/y")


async def test_tasks_are_listed_below_the_task_that_owns_their_nursery(
    autojump_clock: MockClock,
) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(owner, name="the owner")
        await wait_all_tasks_blocked()
        reading = await list_tasks()

        [top] = [row for row in reading.rows if row.name == "the owner"]
        below = [row for row in reading.rows if row.path.startswith(f"{top.path}/")]
        assert [(row.path.removeprefix(top.path), row.depth - top.depth) for row in below] == [
            ("/below", 1),
            ("/below#2", 1),
            ("/x/y", 1),
        ]
        assert [row.name for row in below] == ["below", "below", "x/y"]
        assert not reading.truncated
        nursery.cancel_scope.cancel()


async def test_place_of_a_task_is_its_innermost_frame_outside_of_trio(
    autojump_clock: MockClock,
) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(owner, name="the owner")
        await wait_all_tasks_blocked()

        [task] = [task for _, _, task in walk_tasks() if task.name == "the owner"]
        module, _, rest = place_of(task).partition(":")
        assert (module, rest.split()[1]) == (__name__, "owner")
        nursery.cancel_scope.cancel()


async def test_task_is_found_by_its_path_until_it_ends(autojump_clock: MockClock) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(owner, name="the owner")
        await wait_all_tasks_blocked()
        paths = {path: task for path, _, task in walk_tasks()}

        assert len(paths) == len(set(map(id, paths.values())))
        for path, task in paths.items():
            assert find_task(path) is task
        assert find_task("no such task") is None
        [gone] = [path for path, task in paths.items() if task.name == "x/y"]
        nursery.cancel_scope.cancel()

    assert find_task(gone) is None


async def test_reading_ends_at_its_bound_and_says_so(autojump_clock: MockClock) -> None:
    everything = await list_tasks()
    few = await list_tasks(most=1)

    assert [row.path for row in few.rows] == [everything.rows[0].path]
    assert few.truncated


@waits_for_work("an order")
async def worker(hold: trio.Event) -> None:
    await trio.sleep(1)
    await hold.wait()
    await at_work()


async def at_work() -> None:
    await trio.sleep_forever()


@waits_for("change", CONTROLLER, "the controller to agree")
async def agreement() -> None:
    await at_work()


async def test_task_says_what_it_waits_for_until_it_is_at_work(autojump_clock: MockClock) -> None:
    async with trio.open_nursery() as nursery:
        hold = trio.Event()
        nursery.start_soon(worker, hold, name="worker")
        nursery.start_soon(agreement, name="agreement")
        nursery.start_soon(owner, name="the owner")
        await wait_all_tasks_blocked()
        idle = {row.name: row.wait for row in (await list_tasks()).rows}
        hold.set()
        await trio.sleep(2)
        busy = {row.name: row.wait for row in (await list_tasks()).rows}
        nursery.cancel_scope.cancel()

    assert idle["worker"] is not None
    assert (idle["worker"].cause, idle["worker"].words) == ("work", "an order")
    assert busy["worker"] is None
    assert idle["agreement"] is not None
    assert idle["agreement"].on == CONTROLLER
    assert idle["the owner"] is not None
    assert idle["the owner"].words == "the end of task below and 2 more"
