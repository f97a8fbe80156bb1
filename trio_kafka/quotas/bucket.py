"""A bucket of tokens, refilled with time: lets bursts through, and is overdrawn by one request.

Who is measured by a rate waits until a burst has left the windows; a bucket waits just until what
was overdrawn has come in. Source: TokenBucket and ControllerMutationQuotaManager of Apache Kafka
4.4.0; KIP-599.
"""

from math import floor, inf

from trio_kafka.quotas.rate import MOST_MS


class TokenBucket:
    """Full at first. windows, window_ms: the bucket holds what comes in during so many windows."""

    __slots__ = ("_refilled_ms", "_span_s", "_tokens")

    def __init__(self, windows: int, window_ms: int) -> None:
        self._span_s = windows * window_ms / 1000
        self._tokens = inf  # until it is first looked at: full, whatever the rate is
        self._refilled_ms = 0

    def tokens(self, rate: float, now_ms: int) -> float:
        """What is left with `rate` tokens a second; below zero: overdrawn."""
        came = rate * (now_ms - self._refilled_ms) / 1000
        self._tokens = min(rate * self._span_s, self._tokens + came)
        self._refilled_ms = now_ms
        return self._tokens

    def take(self, count: float, rate: float, now_ms: int) -> None:
        """Take tokens, more than there are if need be."""
        self._tokens = min(rate * self._span_s, self.tokens(rate, now_ms) - count)

    def throttle_ms(self, rate: float, now_ms: int) -> int:
        """How long until it is not overdrawn any more; 0: it is not."""
        left = self.tokens(rate, now_ms)
        if left >= 0:
            return 0
        wait_ms = -left / rate * 1000 if rate > 0 else inf
        return floor(wait_ms + 0.5) if wait_ms < MOST_MS else MOST_MS
