"""A task that sleeps, and lends its name: others run a coroutine as if this task ran it.

To wake a task costs several µs, with its frames gone from the caches; to go on with a coroutine
that is at hand costs one. While somebody runs as the task, scopes, nurseries and waits belong to
it; when what is run waits for something of Trio's, it is the task that waits and that is woken.

With private names of Trio, as `world.scheduling`: `_core._run.GLOBAL_RUN_CONTEXT.task` says who
runs; a task that sleeps has an `_abort_func`, which Trio asks once. Where a Trio has them no more
(`KNOWN`), nobody may run as another, and tasks have to be woken.
"""

from collections.abc import Callable, Generator
from types import coroutine
from typing import Any, Final, NoReturn

import outcome
import trio
from trio._core import _run as _trio_run
from trio._core import _traps

RaiseCancel = Callable[[], NoReturn]
AbortFunction = Callable[[RaiseCancel], trio.lowlevel.Abort]
_FAILED: Final = trio.lowlevel.Abort.FAILED
_RUNS: Final[Any] = getattr(_trio_run, "GLOBAL_RUN_CONTEXT", None)
KNOWN: Final = (
    _RUNS is not None
    and hasattr(trio.lowlevel.Task, "_abort_func")
    and hasattr(trio.lowlevel.Task, "_attempt_delivery_of_any_pending_cancel")
    and "abort_func" in getattr(_traps.WaitTaskRescheduled, "__annotations__", {})
)


class Lender:
    """The task that makes it.

    Whoever wants to run a step as this task, which sleeps, lets `names["task"]` be `task` for as
    long as `enter(step, ...)` takes; `settle` afterwards, if it goes on sleeping. No method does
    that: a call and its frame more, on the way of each request.

    given: what its sleep ended with, an Outcome; of a Cancelled that is to be raised, too. It
        stands here, as a frame that holds an exception is soon held by that.
    missed: it was cancelled while somebody ran as it.
    abort: as `wait_task_rescheduled` wants it, of whatever the task waits for at that time. It is
        not asked while somebody runs as the task.
    """

    __slots__ = ("_abort", "enter", "given", "missed", "names", "task")

    def __init__(self, abort: AbortFunction) -> None:
        self.task = trio.lowlevel.current_task()
        self.enter: Any = self.task.context.run
        # Of this thread: to ask the thread-local itself takes seven times as long.
        self.names: dict[str, Any] = getattr(_RUNS, "__dict__", {})
        self._abort = abort
        self.missed = False
        self.given: outcome.Outcome[Any] | None = None

    async def sleep(self) -> None:
        """Until the task is rescheduled."""
        self.given = None
        try:
            self.given = outcome.Value(await trio.lowlevel.wait_task_rescheduled(self._asked))
        except BaseException as error:  # noqa: BLE001 - it is for who was waiting
            self.given = outcome.Error(error)

    def wake(self) -> None:
        """Let the task itself go on."""
        self.missed = False  # Trio tells it, as soon as it waits
        trio.lowlevel.reschedule(self.task)

    def settle(self) -> None:
        """Who ran as this task waits again, and `abort` knows for what; needed if it `missed`."""
        if self.missed:
            self.missed = False
            self.task._abort_func = self._asked  # noqa: SLF001 - see the module's docstring
            self.task._attempt_delivery_of_any_pending_cancel()  # noqa: SLF001 - the same

    def _asked(self, raise_cancel: RaiseCancel) -> trio.lowlevel.Abort:
        try:
            self.enter(_nothing)
        except RuntimeError:  # its context is entered: somebody runs as this task
            self.missed = True
            return _FAILED
        return self._abort(raise_cancel)


def _nothing() -> None:
    """See `Lender._asked`."""


@coroutine
def pass_on(trap: Any) -> Generator[Any, Any, Any]:
    """Wait for what a coroutine has yielded, in the task that runs; what it is to be sent."""
    return (yield trap)


def abort_of(trap: Any) -> AbortFunction | None:
    """What a coroutine has yielded: how its wait is ended; None if it is to go on at once."""
    return getattr(trap, "abort_func", None)
