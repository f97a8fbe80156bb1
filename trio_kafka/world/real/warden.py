"""Warden: a program that runs a command and kills all its processes when its parent dies.

Usage: `python -I -S warden.py COMMAND [ARGUMENT ...]`. Standard input is a pipe from the parent:
the kernel closes it when the parent dies, also by `kill -9`. Then the warden kills every
descendant, whatever its process group: as a "child subreaper" (Linux) it becomes the parent of
orphaned descendants. It does the same when the command ends, and then exits with the status, or
by the signal, of the command. SIGTERM to the group leaves the warden running.

It imports nothing of trio_kafka and little else: each pipeline has its own warden, of 8 MB.
"""

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Final, NoReturn

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
CANNOT_RUN: Final = 127
_HANDLED: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main(command: list[str]) -> NoReturn:
    """Run the command to its end, or to the end of the pipe."""
    _control(_PR_SET_CHILD_SUBREAPER, 1)
    for number in _HANDLED:
        # A function, not SIG_IGN, which the command would inherit.
        signal.signal(number, lambda *_: None)
    warden, child = os.getpid(), os.fork()
    if not child:
        _execute(command, warden)
    # Otherwise the command's output would stay open for as long as the warden runs.
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nothing, stream)
    threading.Thread(target=_watch, daemon=True).start()
    while True:
        try:
            ended, status = os.wait()
        except ChildProcessError:  # the other thread waited for it, and ends this process
            threading.Event().wait()
        if ended == child:
            break
    kill_descendants()
    _end(os.waitstatus_to_exitcode(status))


def _execute(command: list[str], warden: int) -> NoReturn:
    """Become the command, in the child. The kernel kills it if the warden itself is killed."""
    try:
        _control(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != warden:
            os._exit(CANNOT_RUN)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them
            signal.signal(number, signal.SIG_DFL)
        os.execvp(command[0], command)  # noqa: S606 - the operator's command
    except OSError as error:
        os.write(2, f"cannot run {command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(CANNOT_RUN)


def _watch() -> None:
    """Wait for the end of the pipe; then kill everything, and the warden with it."""
    while os.read(0, 100):
        pass
    kill_descendants()
    os._exit(128 + signal.SIGKILL)


def kill_descendants() -> None:
    """Kill all descendants and wait for their end."""
    while True:
        for pid in _descendants():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        try:
            os.wait()
        except ChildProcessError:
            return


def _descendants() -> Iterator[int]:
    """Yield the descendants of this process, from /proc."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as stat:
                # The name in parentheses may contain anything (proc(5)).
                parent = int(stat.read().rpartition(b")")[2].split()[1])
        except (OSError, IndexError):
            continue  # the process has ended
        children.setdefault(parent, []).append(int(name))
    waiting = children.get(os.getpid(), [])
    while waiting:
        pid = waiting.pop()
        yield pid
        waiting += children.get(pid, [])


def _control(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _end(status: int) -> NoReturn:
    """End as the command did. Negative: by this signal."""
    if status < 0:
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    main(sys.argv[1:])
