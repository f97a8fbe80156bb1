"""Errors of a shard that does not serve."""

import pytest

from trio_kafka.coordinators.shards.protocols import REFUSALS, ShardState
from trio_kafka.errors import ErrorCode


@pytest.mark.parametrize("state", ShardState)
def test_every_state_except_active_has_a_retriable_error(state: ShardState) -> None:
    code = REFUSALS.get(state)

    if state is ShardState.ACTIVE:
        assert code is None
    elif state is ShardState.LOADING:
        assert code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS  # here
    else:
        assert code is ErrorCode.NOT_COORDINATOR  # elsewhere
