"""The running tasks of the process, each below the task whose nursery owns it.

A task is found by its path of names. A name that siblings share is followed by its number among
them, as in "kafka-handler#2".
"""

from collections.abc import Iterator
from types import FrameType
from typing import Final

import trio

from trio_kafka.attributes import frozen
from trio_kafka.introspect.declared_waits import declared_wait_of
from trio_kafka.introspect.texts import shortened
from trio_kafka.introspect.waits import Subject, Wait

MOST: Final = 2000  # tasks of one reading
_IDLE: Final = ("time", "work")  # causes of a wait of the innermost function alone
_SLICE: Final = 16  # tasks between two checkpoints: each costs 20 µs


@frozen(kw_only=True)
class TaskRow:
    """One task. place: where it waits, the innermost frame outside of Trio, as in
    "trio_kafka.raft.driver:170 run"; empty: it has not begun. wait: what it waits for, as far as
    the functions that it is in declare that, or as it waits for its own tasks; None: unknown.
    """

    path: str
    depth: int
    name: str
    place: str
    wait: Wait | None = None


@frozen
class TaskReading:
    """Rows, parents before children. truncated: there are more."""

    rows: list[TaskRow]
    truncated: bool


async def list_tasks(most: int = MOST) -> TaskReading:
    """List the tasks of this process, in slices."""
    rows = list[TaskRow]()
    for path, depth, task in walk_tasks():
        if len(rows) >= most:
            return TaskReading(rows, truncated=True)
        name = shortened(task.name)
        rows.append(
            TaskRow(path=path, depth=depth, name=name, place=place_of(task), wait=wait_of(task))
        )
        if not len(rows) % _SLICE:
            await trio.lowlevel.checkpoint()
    await trio.lowlevel.checkpoint()
    return TaskReading(rows, truncated=False)


def find_task(path: str) -> trio.lowlevel.Task | None:
    """Return the task of a path, or None if it has ended."""
    tasks = walk_tasks()
    return next((task for task_path, _, task in tasks if task_path == path), None)


def walk_tasks() -> Iterator[tuple[str, int, trio.lowlevel.Task]]:
    """Yield path, depth and task; children are listed when their parent is reached."""
    root = trio.lowlevel.current_root_task()
    if root is None:
        return
    below = [iter([(root.name, root)])]
    while below:
        entry = next(below[-1], None)
        if entry is None:
            below.pop()
            continue
        path, task = entry
        yield path, len(below) - 1, task
        below.append(iter(_children(path, task)))


def _children(path: str, task: trio.lowlevel.Task) -> list[tuple[str, trio.lowlevel.Task]]:
    children = list[tuple[str, trio.lowlevel.Task]]()
    counts = dict[str, int]()
    tasks = [child for nursery in task.child_nurseries for child in nursery.child_tasks]
    # A nursery keeps a set: the order of starts is unknown, that of names stays.
    for child in sorted(tasks, key=lambda child: (child.name, id(child))):
        number = counts[child.name] = counts.get(child.name, 0) + 1
        name = child.name if number == 1 else f"{child.name}#{number}"
        children.append((f"{path}/{name}", child))
    return children


def place_of(task: trio.lowlevel.Task) -> str:
    """Return where a task waits: its innermost frame outside of Trio."""
    place = ""
    for frame, line in task.iter_await_frames():
        if not _is_of_trio(frame):
            module = frame.f_globals.get("__name__", "?")
            place = f"{module}:{line} {frame.f_code.co_name}"
    return place


def _is_of_trio(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "?")).startswith("trio.")


def wait_of(task: trio.lowlevel.Task) -> Wait | None:
    """Return what a task waits for, by the innermost of its functions that declares it.

    A task waits for work only in the function that says so: one that it has called is at work. A
    task that has tasks of its own and declares nothing waits for their end.
    """
    wait = None
    for frame, _ in task.iter_await_frames():
        if not _is_of_trio(frame):
            declared = declared_wait_of(frame.f_code)
            wait = declared or (None if wait is None or wait.cause in _IDLE else wait)
    if wait is not None:
        return wait
    names = sorted(child.name for nursery in task.child_nurseries for child in nursery.child_tasks)
    if not names:
        return None
    words = f"the end of task {shortened(names[0])}"
    if len(names) > 1:
        words += f" and {len(names) - 1} more"
    return Wait(cause="change", words=words, on=Subject("task", shortened(names[0])))
