"""When a client gets its next token: some time before the end of the one that it has.

Source: ExpiringCredentialRefreshingLogin of Apache Kafka 4.4.0 (`sasl.login.refresh.*`).
"""

from collections.abc import Callable
from typing import Final, Self

from trio_kafka.attributes import frozen
from trio_kafka.security.tokens.bearer import BearerToken

FACTOR: Final = "sasl.login.refresh.window.factor"
JITTER: Final = "sasl.login.refresh.window.jitter"
MIN_PERIOD: Final = "sasl.login.refresh.min.period.seconds"
BUFFER: Final = "sasl.login.refresh.buffer.seconds"


@frozen(kw_only=True)
class Renewal:
    """Part of a token's life after which it is renewed, and the seconds kept before and after that.

    factor, jitter: shares of the life; the second is added at random. min_period_s: between two
    renewals, where the life is long enough. buffer_s: before the end, likewise.
    """

    factor: float = 0.8
    jitter: float = 0.05
    min_period_s: float = 60
    buffer_s: float = 300

    @classmethod
    def from_values(cls, value_of: Callable[[str], object]) -> Self:
        """Return the settings. value_of: returns the value of a setting by Kafka's name."""
        factor, jitter, min_period, buffer = (
            float(str(value_of(name))) for name in (FACTOR, JITTER, MIN_PERIOD, BUFFER)
        )
        return cls(factor=factor, jitter=jitter, min_period_s=min_period, buffer_s=buffer)

    def due_s(self, token: BearerToken, now_s: float, chance: float) -> float:
        """Return the wall-clock time at which a token that has just come is renewed.

        chance: random number from 0 to 1.
        """
        share, end_s = self.factor + self.jitter * chance, token.expires_s
        if now_s + self.min_period_s + self.buffer_s > end_s:  # its life is too short for both
            return now_s + (end_s - now_s) * share
        begin_s = now_s if token.begins_s is None else token.begins_s
        due_s = begin_s + (end_s - begin_s) * share
        if due_s > end_s - self.buffer_s:
            return end_s - self.buffer_s
        return max(due_s, now_s + self.min_period_s)
