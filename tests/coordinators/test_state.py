"""What whoever asks a shard is told that does not serve."""

import pytest

from trio_kafka.coordinators.state import REFUSALS, State
from trio_kafka.errors import ErrorCode


@pytest.mark.parametrize("state", State)
def test_each_state_but_one_has_an_error_that_makes_clients_ask_again(state: State) -> None:
    told = REFUSALS.get(state)

    if state is State.ACTIVE:
        assert told is None
    elif state is State.LOADING:
        assert told is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS  # here
    else:
        assert told is ErrorCode.NOT_COORDINATOR  # elsewhere
