"""Work in steps: a generator that pauses where others may run, and returns its result.

A step is short, some 10 µs to a millisecond; whoever drives steps looks at the clock after each.
"""

from collections.abc import Callable, Generator
from typing import Generic, TypeVar

from attrs import frozen

T = TypeVar("T")
Steps = Generator[None, None, T]


@frozen
class Done(Generic[T]):
    """What steps gave at their end."""

    value: T


def advance(steps: Steps[T], elapsed: Callable[[], float], ends: float) -> Done[T] | None:
    """Go on until the end, or until `elapsed` has reached `ends`: then None. At least one step."""
    try:
        while True:
            next(steps)
            if elapsed() >= ends:
                return None
    except StopIteration as end:
        return Done(end.value)


def whole(steps: Steps[T]) -> T:
    """All of the steps, now."""
    try:
        while True:
            next(steps)
    except StopIteration as end:
        result: T = end.value
        return result
