"""What a shard is at, and what it tells whoever asks it then."""

from collections.abc import Mapping
from enum import Enum
from typing import Final

from trio_kafka.errors import ErrorCode


class State(Enum):
    """What a shard is at; others than ACTIVE have their error."""

    LOADING = "loading"
    ACTIVE = "active"
    FAILED = "failed"  # it cannot be loaded
    UNLOADED = "unloaded"


REFUSALS: Final[Mapping[State, ErrorCode]] = {
    State.LOADING: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    State.FAILED: ErrorCode.NOT_COORDINATOR,
    State.UNLOADED: ErrorCode.NOT_COORDINATOR,
}
