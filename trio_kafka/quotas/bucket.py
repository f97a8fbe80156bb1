"""Token bucket: allows bursts, and lets one request overdraw it.

A client measured by a rate waits until its burst has left the windows. A bucket makes it wait only
until the overdrawn tokens are refilled. Source: TokenBucket and ControllerMutationQuotaManager of
Apache Kafka 4.4.0; KIP-599.
"""

from math import floor, inf

from trio_kafka.quotas.rate import MOST_MS


class TokenBucket:
    """Bucket that is full at first.

    windows, window_ms: the capacity is the refill of this many windows.
    """

    __slots__ = ("_refilled_ms", "_span_s", "_tokens")

    def __init__(self, windows: int, window_ms: int) -> None:
        self._span_s = windows * window_ms / 1000
        self._tokens = inf  # until it is first looked at: full, whatever the rate is
        self._refilled_ms = 0

    def tokens(self, rate: float, now_ms: int) -> float:
        """Return the tokens left, with a refill of `rate` a second; negative: overdrawn."""
        came = rate * (now_ms - self._refilled_ms) / 1000
        self._tokens = min(rate * self._span_s, self._tokens + came)
        self._refilled_ms = now_ms
        return self._tokens

    def take(self, count: float, rate: float, now_ms: int) -> None:
        """Take tokens; the bucket may be overdrawn."""
        self._tokens = min(rate * self._span_s, self.tokens(rate, now_ms) - count)

    def throttle_ms(self, rate: float, now_ms: int) -> int:
        """Return the time until the bucket is no longer overdrawn; 0: it is not."""
        tokens = self.tokens(rate, now_ms)
        if tokens >= 0:
            return 0
        wait_ms = -tokens / rate * 1000 if rate > 0 else inf
        return floor(wait_ms + 0.5) if wait_ms < MOST_MS else MOST_MS
