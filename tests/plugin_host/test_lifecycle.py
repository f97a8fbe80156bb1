import pytest

from trio_kafka.errors import InvariantError
from trio_kafka.plugin_host.lifecycle import Lifecycle, State


def new_lifecycle() -> tuple[Lifecycle, list[tuple[State, str]]]:
    changes: list[tuple[State, str]] = []
    times = iter(range(100))
    return Lifecycle(lambda: float(next(times)), lambda *change: changes.append(change)), changes


def test_each_state_change_is_reported_and_timed() -> None:
    life, changes = new_lifecycle()

    for state in (State.VALIDATED, State.STARTING, State.READY, State.DRAINING, State.STOPPED):
        life.enter(state)

    assert [state for state, _ in changes] == list(State)[1:6]
    assert life.since == 5.0
    assert life.over


@pytest.mark.parametrize("state", [State.STARTING, State.READY, State.DRAINING, State.STOPPED])
def test_skipping_a_lifecycle_state_is_refused(state: State) -> None:
    life, changes = new_lifecycle()

    with pytest.raises(InvariantError, match=f"from discovered to {state.value}"):
        life.enter(state)

    assert (life.state, changes) == (State.DISCOVERED, [])


def test_a_failed_lifecycle_keeps_its_reason_and_cannot_change() -> None:
    life, changes = new_lifecycle()
    life.enter(State.FAILED, "broken")

    assert changes == [(State.FAILED, "broken")]
    assert (life.error, life.over) == ("broken", True)
    with pytest.raises(InvariantError):
        life.enter(State.VALIDATED)
