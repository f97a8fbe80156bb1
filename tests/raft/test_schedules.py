"""Random schedules of a quorum, and planted faults that they must find."""

from collections.abc import Callable
from inspect import getmembers, isfunction

import pytest

from tests.lanes import Seeds
from tests.raft import mutations
from tests.raft.cluster import run_schedule
from tests.raft.mutations import Plant
from trio_kafka.errors import InvariantError

Size = Callable[[int, int], int]
PLANTS: list[Plant] = [
    plant
    for _, plant in getmembers(mutations, isfunction)
    if plant.__module__ == mutations.__name__
]
# One schedule in tens of thousands finds it: the short form begins before that one.
RARE = {mutations.commit_older_epochs: 36_000}
SCHEDULES = (2_000, 50_000)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_no_order_of_events_elects_two_leaders_or_loses_committed_records(seeds: Seeds) -> None:
    """Each schedule also settles: one leads, all logs are equal, what was committed is there."""
    for seed in seeds(300, SCHEDULES[1]):
        try:
            run_schedule(seed)
        except (AssertionError, InvariantError) as error:
            error.add_note(f"schedule {seed}")
            raise


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_planted_fault_is_found_by_a_schedule(
    plant: Plant, monkeypatch: pytest.MonkeyPatch, size: Size, capsys: pytest.CaptureFixture[str]
) -> None:
    plant(monkeypatch)
    first = size(RARE.get(plant, 0), 0)
    schedules = range(first, first + size(*SCHEDULES))

    result = next((seed for seed in schedules if is_found_by(seed)), None)

    with capsys.disabled():
        print(f"\n{plant.__name__}: found by schedule {result}, from {first} on")
    assert result is not None


def is_found_by(seed: int) -> bool:
    try:
        run_schedule(seed)
    except (AssertionError, InvariantError):
        return True
    return False
