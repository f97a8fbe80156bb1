"""The life of a plugin: which state follows which, since when, and why it failed."""

from collections.abc import Callable
from enum import Enum
from typing import Final

from trio_kafka.errors import InvariantError


class State(Enum):
    """As users see it. discovered: its entry point is known; validated: so are its settings."""

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


class Life:
    """`since`: seconds of the clock it was given. `error`: why it failed, in one line."""

    def __init__(self, now: Callable[[], float], told: Callable[[State, str], None]) -> None:
        self.state = State.DISCOVERED
        self.since = now()
        self.error = ""
        self._now = now
        self._told = told

    def go(self, state: State, error: str = "") -> None:
        """Enter a state. Raises InvariantError for one that cannot follow."""
        if state not in _NEXT[self.state]:
            raise InvariantError(f"a plugin that is {self.state.value} cannot be {state.value}")
        self.state, self.since = state, self._now()
        if error:
            self.error = error
        self._told(state, error)

    @property
    def over(self) -> bool:
        return self.state in (State.STOPPED, State.FAILED)
