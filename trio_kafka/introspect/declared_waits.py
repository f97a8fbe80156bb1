"""Declarations of what an async function waits for, so that a request parked on it can say so.

@waits_for("change", CONTROLLER, "the controller to create topics")
async def create(...): ...
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

from trio_kafka.introspect.waits import Subject, SubjectKind, Wait, WaitCause

F = TypeVar("F", bound=Callable[..., Any])
CONTROLLER: Final = Subject("controller", "quorum-controller")
_DECLARED: Final = "__trio_kafka_wait__"


def waits_for(cause: WaitCause, on: Subject, words: str, *, then: str = "") -> Callable[[F], F]:
    """Declare what the decorated function waits for."""
    wait = Wait(cause=cause, words=words, on=on, then=then)
    return _declared_by(lambda *_args: wait)


def waits_for_its_argument(
    cause: WaitCause, kind: SubjectKind, words: str, *, then: str = ""
) -> Callable[[F], F]:
    """Declare that the decorated function waits for what its first argument names.

    words: has `{}` in the place of the name.
    """

    def declared(name: object = "", *_args: object) -> Wait:
        return Wait(cause=cause, words=words.format(name), on=Subject(kind, str(name)), then=then)

    return _declared_by(declared)


def declared_wait(function: object, args: tuple[object, ...] = ()) -> Wait | None:
    """Return what a function declares for a call with these arguments; None: nothing."""
    while isinstance(function, partial):
        args = (*function.args, *args)
        function = function.func
    declared = getattr(function, _DECLARED, None)
    if declared is None:
        return None
    wait: Wait = declared(*args)
    return wait


def _declared_by(declared: Callable[..., Wait]) -> Callable[[F], F]:
    def mark(function: F) -> F:
        setattr(function, _DECLARED, declared)
        return function

    return mark
