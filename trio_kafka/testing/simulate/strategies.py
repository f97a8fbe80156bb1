"""Hypothesis strategies for schedules of faults: a failing schedule shrinks to few faults.

    @given(schedules())
    @simulate(seeds=3)
    async def test_nothing_acknowledged_is_lost(sim, faults):
        async with sim.chaos(faults):
            ...

Needs hypothesis.
"""

from collections.abc import Collection

from hypothesis import strategies as st

from trio_kafka.testing.simulate.schedule import (
    ARGUMENTS,
    KINDS,
    Argument,
    Fault,
    Schedule,
    check_schedule,
)


def schedules(
    groups: Collection[str] = tuple(KINDS), *, within_s: float = 10.0, most: int = 5
) -> st.SearchStrategy[Schedule]:
    """Return schedules of up to `most` faults. groups: of `KINDS`."""
    kinds = [kind for group in groups for kind in KINDS[group]]
    return st.lists(faults(kinds, within_s=within_s), max_size=most).map(check_schedule)


def faults(kinds: Collection[str], *, within_s: float) -> st.SearchStrategy[Fault]:
    """Return single faults of some kinds."""
    return st.one_of(
        [
            st.tuples(
                st.floats(0, within_s).map(_rounded),
                st.just(kind),
                *(_values(argument) for argument in ARGUMENTS[kind]),
            )
            for kind in kinds
        ]
    )


def _values(argument: Argument) -> st.SearchStrategy[str | float]:
    texts = argument.choices or argument.usual_texts
    if texts:
        return st.sampled_from(texts)
    low, high = argument.usual
    if argument.whole:
        return st.integers(round(low), round(high))
    return st.floats(low, high).map(_rounded)


def _rounded(value: float) -> float:
    return round(value, 3)
