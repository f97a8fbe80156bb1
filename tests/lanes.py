"""Samples of long walks: `make test` runs these, `make test-long` the whole walk."""

import random
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import pytest

Seeds = Callable[[int, int], range]


def sampled(values: Iterable[Any], keep: Callable[[Any], bool]) -> list[Any]:
    """Return parameters for `parametrize`; those that `keep` rejects are marked `long`.

    values: single parameters, tuples of parameters, or `pytest.param` objects. For these `keep`
    gets the parameter, or the tuple of parameters.
    """
    return [value if keep(plain(value)) else marked(value) for value in values]


def ends(values: Iterable[Any], group: Callable[[Any], Hashable]) -> list[Any]:
    """Return parameters of which the first and the last of each group are the sample.

    Fits walks over versions, in order: the oldest and the newest version of each message.
    """
    result = list(values)
    first: dict[Hashable, int] = {}
    last: dict[Hashable, int] = {}
    for number, value in enumerate(result):
        first.setdefault(group(plain(value)), number)
        last[group(plain(value))] = number
    kept = {*first.values(), *last.values()}
    return [value if number in kept else marked(value) for number, value in enumerate(result)]


def offset_below(step: int) -> int:
    """Return the first place of a walk that takes each `step`th place: another one in each run.

    A failed test shows it; `--randomly-seed` repeats a run.
    """
    offset = random.randrange(step)
    print(f"the walk begins at {offset} of {step}")
    return offset


def together(
    cases: Iterable[Any], label: Callable[[Any], str] = str
) -> Callable[[Callable[[Any], None]], Callable[[], None]]:
    """Return a decorator like `parametrize` of one parameter, with all cases in one test.

    For hundreds of cases that take microseconds: pytest takes 3 ms for each test. A note on the
    exception names the case that failed. label: the case for people.
    """
    values = list(cases)

    def decorate(test: Callable[[Any], None]) -> Callable[[], None]:
        def run_all() -> None:
            assert values
            for value in values:
                try:
                    test(value)
                except Exception as error:
                    error.add_note(f"the case is {label(value)}")
                    raise

        run_all.__name__, run_all.__doc__ = test.__name__, test.__doc__
        return run_all

    return decorate


def plain(value: Any) -> Any:
    """Return a parameter, or the tuple of parameters, without pytest's wrapping."""
    if isinstance(value, type(pytest.param())):
        return value.values[0] if len(value.values) == 1 else tuple(value.values)
    return value


def marked(value: Any) -> Any:
    """Return a parameter with the mark `long`."""
    if isinstance(value, type(pytest.param())):
        return pytest.param(*value.values, id=value.id, marks=(*value.marks, pytest.mark.long))
    values = value if isinstance(value, tuple) else (value,)
    return pytest.param(*values, marks=pytest.mark.long)
