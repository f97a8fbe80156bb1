"""Back-off and deadline of one piece of work, with the error that ends it."""

import random
import time
from collections.abc import Callable
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode
from trio_kafka.peers.backoff import Backoff
from trio_kafka_spark.client.errors import (
    CORRUPT,
    NOT_ALLOWED,
    REJECTED,
    UNAVAILABLE,
    UNSUPPORTED,
    FencedError,
    SourceError,
)
from trio_kafka_spark.client.settings import ClientSettings

_CONDITIONS: Final = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: NOT_ALLOWED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: NOT_ALLOWED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: NOT_ALLOWED,
    ErrorCode.CORRUPT_MESSAGE: CORRUPT,
    ErrorCode.UNSUPPORTED_VERSION: UNSUPPORTED,
    ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT: UNSUPPORTED,
}


_FENCED: Final = frozenset(
    {
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.PRODUCER_FENCED,
    }
)


def named(code: int) -> str:
    """The name of an error code; a code that only a later Kafka knows is shown as a number."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"


def is_retriable(code: int) -> bool:
    """True for an error code after which the same request may succeed later."""
    try:
        return ErrorCode(code).retriable
    except ValueError:
        return False


def rejected(request: str, code: int) -> SourceError:
    """Return the error of an answer that no retry changes.

    request: API, topic and broker, for the message.
    """
    if code in _FENCED:
        return FencedError.of(f"{request}: the broker answered {named(code)}")
    condition = REJECTED
    if code in ErrorCode.__members__.values():
        condition = _CONDITIONS.get(ErrorCode(code), REJECTED)
    hint = {
        NOT_ALLOWED: "; give this principal the permission, or use other credentials",
        UNSUPPORTED: "; the broker is too old, or too new, for this request",
    }.get(condition, "")
    return SourceError(condition, f"{request}: the broker answered {named(code)}{hint}")


@define(kw_only=True)
class Attempts:
    """Attempts at one piece of work: each failure waits longer, until the deadline has passed.

    request: names the work in the error that ends it. timeout_ms: counts from the start, and again
    from each `succeeded`. most: failures in a row that are too many; None: the deadline decides.
    """

    settings: ClientSettings
    request: str
    timeout_ms: int
    most: int | None = None
    sleep: Callable[[float], object] = time.sleep
    _failures: int = field(default=0, init=False)
    _deadline: float = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.succeeded()

    @property
    def left_s(self) -> float:
        """Seconds until the deadline."""
        return self._deadline - time.monotonic()

    def succeeded(self) -> None:
        """There was progress: count and deadline begin again."""
        self._failures = 0
        self._deadline = time.monotonic() + self.timeout_ms / 1000

    def failed(self, reason: object) -> None:
        """Wait before the next attempt, or raise the SourceError that names the last reason."""
        self._failures += 1
        if self.left_s <= 0 or self._failures == self.most:
            tries = "1 attempt" if self._failures == 1 else f"{self._failures} attempts"
            raise SourceError(
                UNAVAILABLE,
                f"{self.request}: gave up after {tries} in {self.timeout_ms / 1000:g} s"
                f" at most; the last one failed with: {reason}",
            )
        self.sleep(max(0.0, min(self._pause_s(), self.left_s)))

    def _pause_s(self) -> float:
        settings = self.settings
        backoff = Backoff(settings.retry_backoff_ms / 1000, settings.retry_backoff_max_ms / 1000)
        return backoff.pause_s(self._failures, random.random())  # noqa: S311 - spreads retries
