"""States of a client that pushes metrics: what to send when. Does no I/O.

Source: KIP-714, and ClientTelemetryReporter of Apache Kafka 4.4.0. A client asks which metrics to
push, pushes them at the interval of the answer, and asks again after most errors. At its end it
pushes once more, if a subscription is in force.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import ErrorCode
from trio_kafka.records.compression import Codec

DEFAULT_INTERVAL_S: Final = 300.0
_NEVER: Final = float("inf")
_JITTER: Final = (0.5, 1.5)  # of the first push, so that clients that start together spread
_NO_INSTANCE: Final = bytes(16)


class State(Enum):
    """The client's next action, or what it waits for."""

    SUBSCRIPTION_NEEDED = "subscription needed"
    SUBSCRIPTION_IN_PROGRESS = "subscription in progress"
    PUSH_NEEDED = "push needed"
    PUSH_IN_PROGRESS = "push in progress"
    LAST_PUSH_NEEDED = "last push needed"
    LAST_PUSH_IN_PROGRESS = "last push in progress"
    ENDED = "ended"


_SENT: Final[Mapping[State, State]] = {
    State.SUBSCRIPTION_NEEDED: State.SUBSCRIPTION_IN_PROGRESS,
    State.PUSH_NEEDED: State.PUSH_IN_PROGRESS,
    State.LAST_PUSH_NEEDED: State.LAST_PUSH_IN_PROGRESS,
}
_LAST: Final = frozenset({State.LAST_PUSH_NEEDED, State.LAST_PUSH_IN_PROGRESS, State.ENDED})
_AT_ONCE: Final = frozenset(
    {ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE}
)
_LATER: Final = frozenset({ErrorCode.TELEMETRY_TOO_LARGE, ErrorCode.THROTTLING_QUOTA_EXCEEDED})


@frozen(kw_only=True)
class Subscription:
    """Metrics that a broker wants. prefixes: of pushed names. codecs: that it accepts, best first.

    largest: bytes of a push.
    """

    instance_id: bytes
    subscription_id: int
    interval_s: float
    prefixes: Sequence[str]
    codecs: Sequence[int]
    is_delta: bool
    largest: int

    @property
    def codec(self) -> Codec:
        """Codec of the pushes: the first that is known here."""
        return next((Codec(code) for code in self.codecs if code in set(Codec)), Codec.NONE)


@define(eq=False)
class TelemetryMachine:
    """State of one client.

    subscription: the last one. failure: why nothing is pushed any more, or None.
    resets: count of changes between deltas and totals: after one, deltas begin anew.
    """

    state: State = State.SUBSCRIPTION_NEEDED
    subscription: Subscription | None = None
    failure: ErrorCode | None = None
    resets: int = 0
    _next: float = field(default=float("-inf"), init=False)

    @property
    def next_time(self) -> float:
        """Time at which a request is due; infinite: none."""
        if self.state is State.LAST_PUSH_NEEDED:
            return float("-inf")
        return self._next if self.state in _SENT and self.failure is None else _NEVER

    @property
    def instance_id(self) -> bytes:
        """Id of this client that the first broker gave; zeros before."""
        return _NO_INSTANCE if self.subscription is None else self.subscription.instance_id

    def begin(self) -> State | None:
        """Send the request that is due; return the new state, which says which one.

        None: none is due any more, as the client has ended.
        """
        state = _SENT.get(self.state)
        if state is not None:
            self.state = state
        return state

    def subscribed(self, subscription: Subscription, now: float, chance: float) -> None:
        """Take a subscription. chance: random, from 0 to 1, for the time of the first push."""
        if self.state in _LAST:
            return
        before, self.subscription = self.subscription, subscription
        if before is not None and before.is_delta != subscription.is_delta:
            self.resets += 1
        pause_s = subscription.interval_s if subscription.interval_s > 0 else DEFAULT_INTERVAL_S
        if subscription.prefixes:
            low, high = _JITTER
            pause_s *= low + (high - low) * chance
            self.state = State.PUSH_NEEDED
        else:
            self.state = State.SUBSCRIPTION_NEEDED
        self._next = now + pause_s

    def pushed(self, now: float) -> None:
        """Note a push that was accepted."""
        if self.state in _LAST:
            self.state = State.ENDED
            return
        self.state = State.PUSH_NEEDED
        self._next = now + self._interval_s

    def rejected(self, code: ErrorCode, now: float) -> None:
        """Take the error of an answer."""
        if self.state in _LAST:
            self.state = State.ENDED
            return
        self.state = State.SUBSCRIPTION_NEEDED
        if code in _AT_ONCE:
            self._next = now
        elif code in _LATER:
            self._next = now + self._interval_s
        else:
            self.failure = code

    def failed(self, now: float) -> None:
        """Note a request without an answer, or a broker that serves no telemetry."""
        if self.state in _LAST:
            self.state = State.ENDED
            return
        self.state = State.SUBSCRIPTION_NEEDED
        self._next = now + self._interval_s

    def close(self) -> bool:
        """End; return whether a last push is due."""
        if self.state in {State.PUSH_NEEDED, State.PUSH_IN_PROGRESS} and self.failure is None:
            self.state = State.LAST_PUSH_NEEDED
        elif self.state not in _LAST:
            self.state = State.ENDED
        return self.state is State.LAST_PUSH_NEEDED

    @property
    def _interval_s(self) -> float:
        subscription = self.subscription
        if subscription is None or subscription.interval_s <= 0:
            return DEFAULT_INTERVAL_S
        return subscription.interval_s
