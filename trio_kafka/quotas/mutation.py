"""Quota of partitions that clients create and delete.

Each payer has a token bucket: one request may overdraw it, and the next one waits. A client that
knows THROTTLING_QUOTA_EXCEEDED is rejected while the bucket is overdrawn (strict). Other clients
are served, and told a throttle time afterwards. Source: ControllerMutationQuotaManager of Apache
Kafka 4.4.0; KIP-599.
"""

from collections.abc import Callable

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.quotas.accounts import UNLIMITED, Account, Accounts
from trio_kafka.quotas.average import WINDOW_MS, WINDOWS
from trio_kafka.quotas.bucket import TokenBucket
from trio_kafka.quotas.client import Windows
from trio_kafka.quotas.rate import Rate


@define(eq=False)
class Mutations:
    """Meter of an account. rate: partitions a second, for operators."""

    bucket: TokenBucket
    rate: Rate = field(factory=lambda: Rate(WINDOWS, WINDOW_MS))

    def measure(self, now_ms: int) -> float:
        """Return the rate a second."""
        return self.rate.measure(now_ms)


class MutationQuota:
    """Quota of partition mutations. now_ms: reads the time."""

    def __init__(
        self, name: str, *, windows: Windows, node: Node, now_ms: Callable[[], int]
    ) -> None:
        self.now_ms = now_ms

        def make() -> Mutations:
            return Mutations(TokenBucket(windows.count, windows.size_ms))

        self.accounts: Accounts[Mutations] = Accounts(
            name, make=make, node=node, figures=self._figures
        )

    def charges(self, user: str, client_id: str, *, strict: bool) -> "Charges":
        """Return the charges of one request."""
        return Charges(self, user, client_id, strict)

    def _figures(self, account: Account[Mutations]) -> Figures:
        now_ms, limited = self.now_ms(), account.bound < UNLIMITED
        return {
            "mutation-rate": account.meter.rate.measure(now_ms),
            "tokens": account.meter.bucket.tokens(account.bound, now_ms) if limited else None,
            "throttle-time": account.waited.measure(now_ms),
            "limit": account.bound if limited else None,
        }


@define(eq=False)
class Charges:
    """Charges of one request. Call it with the partitions of each topic, before they change."""

    _quota: MutationQuota
    _user: str
    _client_id: str
    _strict: bool
    _wait_ms: int = field(default=0, init=False)
    _throttled_ms: int = field(default=0, init=False)

    def __call__(self, partitions: int) -> None:
        """Charge a number of partitions. Raises KafkaError(THROTTLING_QUOTA_EXCEEDED)."""
        if not self._quota.accounts.active:
            return
        now_ms = self._quota.now_ms()
        account = self._quota.accounts.of(self._user, self._client_id, now_ms)
        meter, bound = account.meter, account.bound
        if self._strict:
            self._note(meter.bucket.throttle_ms(bound, now_ms), now_ms)
        meter.bucket.take(partitions, bound, now_ms)
        meter.rate.record(partitions, now_ms)
        if not self._strict:
            self._note(meter.bucket.throttle_ms(bound, now_ms), now_ms)

    def _note(self, wait_ms: int, now_ms: int) -> None:
        if wait_ms:
            self._wait_ms, self._throttled_ms = wait_ms, now_ms
            if self._strict:
                raise KafkaError(
                    ErrorCode.THROTTLING_QUOTA_EXCEEDED, "the quota of changes is used up"
                )

    def left_ms(self) -> int:
        """Return what is left of the last throttle time."""
        if not self._wait_ms:
            return 0
        return max(0, self._wait_ms - (self._quota.now_ms() - self._throttled_ms))
