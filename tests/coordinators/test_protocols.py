"""What whoever asks a shard is told that does not serve."""

import pytest

from trio_kafka.coordinators.protocols import REFUSALS, ShardState
from trio_kafka.errors import ErrorCode


@pytest.mark.parametrize("state", ShardState)
def test_each_state_but_one_has_an_error_that_makes_clients_ask_again(state: ShardState) -> None:
    told = REFUSALS.get(state)

    if state is ShardState.ACTIVE:
        assert told is None
    elif state is ShardState.LOADING:
        assert told is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS  # here
    else:
        assert told is ErrorCode.NOT_COORDINATOR  # elsewhere
