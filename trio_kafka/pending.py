"""Pending values: what a call returns instead of a value that is not there yet.

A part returns a value or a `Pending` of it (`Eventual`), and never takes a continuation. The caller
adds what is to be made of the value with `then`. Only the handler group completes a Pending; any
other task asks by a request from within (`requests.loopback`). Kinds of Pending:

- `purgatory.Delayed`: a change of state, or a deadline, gives the value.
- `Work`: the value takes long to compute, so it is computed in slices of the loop.
"""

from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar, Union, overload

from trio_kafka.scheduling.chunked_work import Steps, whole

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
U = TypeVar("U")
NO_ANSWER: Final = object()  # stands for None where that means "not yet"


class Pending(Generic[T_co]):
    """Value that is not there yet."""

    __slots__ = ()

    def then(
        self, finish: "Callable[[T_co], Eventual[U]]", fail: "Fail[U] | None" = None
    ) -> "Pending[U]":
        """Return a Pending of what `finish` makes of the value. This one must not be used again.

        fail: returns the result if there is no value but an exception; None: it is raised.
        """
        raise NotImplementedError


Eventual = Union[T, Pending[T]]  # noqa: UP007 - T is a type variable
Fail = Callable[[BaseException], Eventual[U]]


@overload
def then(
    result: Pending[T], finish: Callable[[T], Eventual[U]], fail: Fail[U] | None = None
) -> Pending[U]: ...
@overload
def then(
    result: T, finish: Callable[[T], Eventual[U]], fail: Fail[U] | None = None
) -> Eventual[U]: ...
def then(result: Any, finish: Callable[[Any], Any], fail: Fail[Any] | None = None) -> Any:
    """Return what `finish` makes of a value, now if it is there. fail: see `Pending.then`."""
    return result.then(finish, fail) if isinstance(result, Pending) else finish(result)


class Work(Pending[T]):
    """Value that is computed in slices. steps: the computation; close them if they do not run."""

    __slots__ = ("__weakref__", "steps")

    def __init__(self, steps: Steps[Eventual[T]]) -> None:
        self.steps = steps

    def then(self, finish: Callable[[T], Eventual[U]], fail: Fail[U] | None = None) -> "Work[U]":
        return Work(_then(self.steps, finish, fail))

    def close(self) -> None:
        """Give up the computation, and give back what it holds."""
        self.steps.close()


def _then(steps: Steps[Any], finish: Callable[[Any], Any], fail: Fail[Any] | None) -> Steps[Any]:
    """Take steps, and those that their result needs; `finish` gets the value."""
    try:
        result = yield from flattened(steps)
    except GeneratorExit:
        raise
    except BaseException as error:
        if fail is None:
            raise
        return fail(error)
    return then(result, finish, fail)


def flattened(steps: Steps[object]) -> Steps[object]:
    """Take steps, then the steps of a Work that they return."""
    result = yield from steps
    while type(result) is Work:
        result = yield from result.steps
    return result


def work_or_value(steps: Steps[Eventual[T]], *, is_long: bool) -> Eventual[T]:
    """Return the result of steps: at once if they are short, else as Work."""
    return Work(steps) if is_long else whole(steps)
