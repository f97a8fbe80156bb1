"""Declarations of what an async function waits for, so that a request parked on it, or a task that
is in it, can say so. A declaration costs nothing when the function is called.

@waits_for("change", CONTROLLER, "the controller to create topics")
async def create(...): ...
"""

from collections.abc import Callable
from functools import partial
from types import CodeType
from typing import Final, TypeVar

from trio_kafka.introspect.waits import Subject, SubjectKind, Wait, WaitCause

F = TypeVar("F", bound=Callable[..., object])
CONTROLLER: Final = Subject("controller", "quorum-controller")
_BROKER: Final = Subject("broker", "this broker")
_DECLARED: Final = "__trio_kafka_wait__"
_BY_CODE: Final[dict[CodeType, Callable[..., Wait]]] = {}


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


def waits_for_work(words: str) -> Callable[[F], F]:
    """Declare that a task in the decorated function waits for work. words: which."""
    return waits_for("work", _BROKER, words)


def declared_wait_of(code: CodeType) -> Wait | None:
    """Return what the function with this code declares, whatever its arguments; None: nothing."""
    declared = _BY_CODE.get(code)
    return None if declared is None else declared()


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
        code: CodeType | None = getattr(function, "__code__", None)
        if code is not None:
            _BY_CODE[code] = declared
        return function

    return mark
