"""Check that code leaves nothing behind: tasks, threads, processes, sockets, files, mappings.

    with no_leaks():
        with running_broker() as kafka:
            ...

Resources of this process are compared before and after; the error names those that are new. Idle
threads that Trio keeps for later are no leaks, nor is the socket by which the process claims ports.
Linux only: it reads /proc.
"""

import os
import socket
import stat
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Final

import trio

from trio_kafka.attributes import frozen
from trio_kafka.testing.ports import CLAIMS
from trio_kafka.world.machine_time import elapsed

_SETTLE_S: Final = 2.0  # for threads and processes that are just ending
_LOOK_S: Final = 0.01
_IDLE: Final = "Trio thread "  # name of a worker thread of Trio between two jobs


class LeakError(AssertionError):
    """Resources were left behind; the message lists them."""


@frozen(kw_only=True)
class Resources:
    """Resources of this process, each as text with its number."""

    counts: Counter[str]

    @classmethod
    def now(cls) -> "Resources":
        """Return the resources of this moment, with the tasks of this thread's Trio loop."""
        counts = Counter(_threads())
        counts.update(_descriptors())
        counts.update(_processes())
        counts.update(_shared_mappings())
        counts.update(_tasks())
        return cls(counts=counts)

    def added_since(self, before: "Resources") -> list[str]:
        """Return the resources added since `before`, sorted."""
        added = self.counts - before.counts
        return sorted(name if count == 1 else f"{name} ({count})" for name, count in added.items())


@contextmanager
def no_leaks() -> Iterator[None]:
    """Raise LeakError if resources of the block remain two seconds after its end.

    For a block that raises, its error has the leaks as a note.
    """
    before = Resources.now()
    try:
        yield
    except BaseException as error:
        if added := _settled(before):
            error.add_note(_message(added))
        raise
    if added := _settled(before):
        raise LeakError(_message(added))


@asynccontextmanager
async def no_leaks_in_loop() -> AsyncIterator[None]:
    """Raise LeakError if the block leaves resources, tasks of this Trio loop included."""
    before = Resources.now()
    yield
    with trio.move_on_after(_SETTLE_S):
        while Resources.now().added_since(before):  # noqa: ASYNC110 - no event tells of these
            await trio.sleep(_LOOK_S)
    if added := Resources.now().added_since(before):
        raise LeakError(_message(added))


def _settled(before: Resources) -> list[str]:
    end = elapsed() + _SETTLE_S
    while (added := Resources.now().added_since(before)) and elapsed() < end:
        time.sleep(_LOOK_S)
    return added


def _message(added: list[str]) -> str:
    return "left behind:\n" + "\n".join(f"- {line}" for line in added)


def _threads() -> Iterator[str]:
    for thread in threading.enumerate():
        if not thread.name.startswith(_IDLE):
            yield f"thread {thread.name}"


def _descriptors() -> Iterator[str]:
    for name in {*os.listdir("/proc/self/fd")} - {str(claim) for claim in CLAIMS}:
        with suppress(OSError):  # of the listing itself, and of files closed meanwhile
            target = os.readlink(f"/proc/self/fd/{name}")
            kind = stat.S_IFMT(os.stat(int(name)).st_mode)
            yield _socket(int(name)) if kind == stat.S_IFSOCK else f"file {_plain(target)}"


def _plain(target: str) -> str:
    """Return a name without the number of an object that has no path."""
    return target if target.startswith("/") else target.partition(":[")[0]


def _socket(descriptor: int) -> str:
    with socket.socket(fileno=os.dup(descriptor)) as opened:
        ends = [_address(opened.getsockname)]
        with suppress(OSError):
            ends.append(_address(opened.getpeername))
        kind = "listening " if opened.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) else ""
        family = socket.AddressFamily(opened.family).name.removeprefix("AF_")
        return f"{kind}socket {family} {' to '.join(ends)}".rstrip()


def _address(name: object) -> str:
    value = name() if callable(name) else name
    return f"{value[0]}:{value[1]}" if isinstance(value, tuple) else str(value or "")


def _processes() -> Iterator[str]:
    for task in os.listdir("/proc/self/task"):
        with suppress(OSError), open(f"/proc/self/task/{task}/children") as children:
            for child in children.read().split():
                with open(f"/proc/{child}/comm") as comm:
                    yield f"process {child} {comm.read().strip()}"


def _shared_mappings() -> Iterator[str]:
    with open("/proc/self/maps") as maps:
        for line in maps:
            fields = line.split(maxsplit=5)
            if "s" in fields[1] and len(fields) > 5:
                yield f"mapping of {fields[5].strip()}"


def _tasks() -> Iterator[str]:
    try:
        waiting = [trio.lowlevel.current_root_task()]
    except RuntimeError:
        return
    while waiting:
        task = waiting.pop()
        if task is not None:
            yield f"task {task.name}"
            for nursery in task.child_nurseries:
                waiting.extend(nursery.child_tasks)
