"""Stack of one task: its frames with the cancel scopes and nurseries that each has open.

stackscope sees through context managers and generators, where `traceback` stops. It is imported
when the first task is opened. Values of variables are never read.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import _AsyncGeneratorContextManager, _GeneratorContextManager
from functools import cache
from importlib import import_module
from math import inf
from typing import Any, Final

import trio

from trio_kafka.attributes import frozen
from trio_kafka.introspect.texts import shortened

_MOST_FRAMES: Final = 200
_MOST_CHILDREN: Final = 20  # names of tasks of one nursery
_LONGEST_LINE: Final = 300


@frozen(kw_only=True)
class OpenScope:
    """One context that a frame is in. kind: cancel scope, nursery or another class.

    words: what it does to the task, as in "deadline in 4.9 s, shielded".
    """

    kind: str
    line: int
    words: str


@frozen(kw_only=True)
class StackFrame:
    """One frame, the outermost first. code: its source line; empty: there is no source."""

    function: str
    module: str
    line: int
    code: str
    scopes: tuple[OpenScope, ...]


@frozen(kw_only=True)
class TaskStack:
    """Stack of a task. deadline_s: until its nearest deadline; None: it has none.

    cancelled: a scope of it was cancelled. problem: why the stack is incomplete; empty: it is not.
    """

    name: str
    frames: tuple[StackFrame, ...]
    deadline_s: float | None
    cancelled: bool
    problem: str


async def load_stackscope(run_in_thread: Callable[..., Awaitable[object]]) -> None:
    """Import the library in a thread: it reads files."""
    await run_in_thread(_stackscope)


@cache
def _stackscope() -> Any:  # it is imported late
    return import_module("stackscope")


def stack_of(task: trio.lowlevel.Task) -> TaskStack:
    """Return the stack of a task that waits; about 1 ms. Call `load_stackscope` before."""
    stack = _stackscope().extract(task, with_contexts=True, recurse_child_tasks=False)
    frames = list[StackFrame]()
    scopes = list[trio.CancelScope]()
    for frame in stack.frames[:_MOST_FRAMES]:
        contexts = [context for context in frame.contexts if not context.hide]
        scopes += [scope for context in contexts if (scope := _scope_of(context.obj)) is not None]
        if frame.hide:
            continue
        frames.append(
            StackFrame(
                function=frame.funcname,
                module=frame.pyframe.f_globals.get("__name__", "?"),
                line=frame.lineno,
                code=shortened(frame.linetext, _LONGEST_LINE),
                scopes=tuple(_open_scope(context) for context in contexts),
            )
        )
    error = getattr(stack, "error", None)
    return TaskStack(
        name=shortened(task.name),
        frames=tuple(frames),
        deadline_s=_nearest(scopes),
        cancelled=any(scope.cancel_called for scope in scopes),
        problem="" if error is None else type(error).__name__,
    )


def _scope_of(context: object) -> trio.CancelScope | None:
    """Return the cancel scope of a context, which may be a nursery."""
    if isinstance(context, trio.Nursery):
        return context.cancel_scope
    return context if isinstance(context, trio.CancelScope) else None


def _nearest(scopes: list[trio.CancelScope]) -> float | None:
    """Return seconds until the nearest deadline of these that reaches the task, or None."""
    nearest = inf
    for scope in reversed(scopes):
        nearest = min(nearest, scope.deadline)
        if scope.shield:
            break  # those outside of it wait
    return None if nearest == inf else max(nearest - trio.current_time(), 0.0)


def _open_scope(context: Any) -> OpenScope:  # stackscope's classes are not typed to the end
    subject = context.obj
    kind = "context manager" if _is_generated(subject) else type(subject).__name__
    if isinstance(subject, trio.Nursery):
        kind = "nursery"
    elif isinstance(subject, trio.CancelScope):
        kind = "cancel scope"
    return OpenScope(kind=kind, line=context.start_line or 0, words=", ".join(_words(subject)))


def _is_generated(context: object) -> bool:
    """Return whether a function made by `contextmanager` is the context."""
    return isinstance(context, _GeneratorContextManager | _AsyncGeneratorContextManager)


def _words(context: object) -> Iterator[str]:
    """Yield what a context does."""
    if isinstance(context, trio.Nursery):
        names = sorted(task.name for task in context.child_tasks)
        more = len(names) - _MOST_CHILDREN
        yield f"{len(names)} tasks: " + ", ".join(map(shortened, names[:_MOST_CHILDREN]))
        if more > 0:
            yield f"{more} more"
    scope = _scope_of(context)
    if scope is None:
        return
    if scope.cancel_called:
        yield "cancelled"
    if scope.deadline != inf:
        yield f"deadline in {max(scope.deadline - trio.current_time(), 0.0):.1f} s"
    if scope.shield:
        yield "shielded"
