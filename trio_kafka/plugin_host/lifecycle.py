"""Lifecycle of a plugin: states, allowed transitions, time of the last one, failure reason."""

from collections.abc import Callable
from enum import Enum
from typing import Final

from trio_kafka.errors import InvariantError


class State(Enum):
    """State of a plugin, as shown to users.

    discovered: its entry point is known. validated: its settings are valid.
    """

    DISCOVERED = "discovered"
    VALIDATED = "validated"
    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"
    STOPPED = "stopped"
    FAILED = "failed"


_NEXT: Final = {
    State.DISCOVERED: {State.VALIDATED, State.FAILED},
    State.VALIDATED: {State.STARTING, State.FAILED},
    State.STARTING: {State.READY, State.DRAINING, State.FAILED},
    State.READY: {State.DRAINING, State.FAILED},
    State.DRAINING: {State.STOPPED, State.FAILED},
    State.STOPPED: set[State](),
    State.FAILED: set[State](),
}


class Lifecycle:
    """Current state. since: time of the last transition. error: reason of a failure, in
    one line.
    """

    def __init__(self, now: Callable[[], float], on_change: Callable[[State, str], None]) -> None:
        self.state = State.DISCOVERED
        self.since = now()
        self.error = ""
        self._now = now
        self._on_change = on_change

    def enter(self, state: State, error: str = "") -> None:
        """Enter a state. Raises InvariantError if it cannot follow the current one."""
        if state not in _NEXT[self.state]:
            raise InvariantError(f"a plugin cannot go from {self.state.value} to {state.value}")
        self.state, self.since = state, self._now()
        if error:
            self.error = error
        self._on_change(state, error)

    @property
    def over(self) -> bool:
        return self.state in (State.STOPPED, State.FAILED)
