"""Order of the tests for several workers, each of which begins with a share of them.

Tests that wait for processes leave a core idle, so they run beside tests that only compute. A
worker that has no more tests takes half of another one's, from the end.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def shares(count: int, workers: int) -> Iterator[int]:
    """Yield the number of tests that each worker begins with: see xdist's `worksteal`."""
    for number in range(workers, 0, -1):
        share = count // number
        count -= share
        yield share


def spread(
    tests: Sequence[T], *, kinds: int, kind_of: Callable[[T], int | None], workers: int
) -> list[T]:
    """Return the tests, so that the shares of all workers but the last begin with some that wait.

    kind_of: 0 to `kinds` - 1 for tests that wait; tests of one kind stay together, in one worker
    if they fit. None for tests that only compute.
    """
    heads: list[list[T]] = [[] for _ in range(workers)]
    for kind in range(kinds):
        heads[kind % max(workers - 1, 1)] += [test for test in tests if kind_of(test) == kind]
    computing = [test for test in tests if kind_of(test) is None]
    ordered: list[T] = []
    excess: list[T] = []
    for share, head in zip(shares(len(tests), workers), heads, strict=True):
        waiting = excess + head
        room = max(share - len(waiting), 0)
        ordered += [*waiting[:share], *computing[:room]]
        excess, computing = waiting[share:], computing[room:]
    return [*ordered, *excess, *computing]
