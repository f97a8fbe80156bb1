"""Steps: taken as far as the time goes, or all at once."""

import pytest

from trio_kafka.steps import Done, Steps, advance, whole


def counting(to: int) -> Steps[str]:
    for _ in range(to):
        yield
    return "done"


def test_steps_are_taken_until_the_time_is_over_and_at_least_one() -> None:
    times = iter(range(100))
    steps = counting(5)

    assert advance(steps, lambda: next(times), ends=2.0) is None
    assert advance(steps, lambda: next(times), ends=0.0) is None
    assert advance(steps, lambda: next(times), ends=100.0) == Done("done")
    assert next(times) == 5


@pytest.mark.parametrize("steps", [0, 1, 100])
def test_all_steps_are_taken_at_once(steps: int) -> None:
    assert whole(counting(steps)) == "done"
