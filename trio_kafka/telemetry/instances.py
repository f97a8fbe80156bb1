"""Clients that ask for subscriptions and push metrics, and what they have pushed. No I/O.

Source: KIP-714, and ClientMetricsManager of Apache Kafka 4.4.0. `MOST_INSTANCES` clients are held,
the one that was silent longest goes first; `MOST_SERIES` series are kept of each client, and
`MOST_IN_ALL` of all. A client is forgotten after three intervals of silence, a minute at least.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Final

from attrs import evolve, field

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.records.compression import Codec
from trio_kafka.telemetry.metric import Point
from trio_kafka.telemetry.otlp import Push
from trio_kafka.telemetry.subscriptions import ClientSubscription

MOST_INSTANCES: Final = 16_384
MOST_SERIES: Final = 500
MOST_IN_ALL: Final = 50_000
_LONG_AGO: Final = float("-inf")
_SHORTEST_LIFE_S: Final = 60.0
_RETRIED: Final = frozenset(
    {ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE}
)
Series = tuple[str, tuple[tuple[str, str], ...]]
"""Name and attributes, sorted."""


@define(eq=False)
class ClientInstance:
    """One client. labels: see `config.client_metrics.LABELS`. resource: what it says of itself.

    version: of the subscriptions that its own was made from. seen: time of its last request.
    pushes: count. skipped: points and series that were not kept.
    """

    id: bytes
    labels: Mapping[str, str]
    subscription: ClientSubscription
    version: int
    seen: float
    last_subscription_request: float = _LONG_AGO
    pushed: float = _LONG_AGO
    is_terminating: bool = False
    last_error: ErrorCode = ErrorCode.NONE
    pushes: int = 0
    skipped: int = 0
    resource: Mapping[str, str] = field(factory=dict)
    values: dict[Series, Point] = field(factory=dict)

    @property
    def life_s(self) -> float:
        """Silence after which the client is forgotten."""
        return max(_SHORTEST_LIFE_S, 3 * self._interval_s)

    def take_ask(self, now: float) -> None:
        """Note a question for the subscription. Raises KafkaError(THROTTLING_QUOTA_EXCEEDED)."""
        early = now - max(self.last_subscription_request, self.pushed) < self._interval_s
        if early and self.last_error not in _RETRIED:
            raise _throttled()
        self.last_subscription_request = now
        self.last_error = ErrorCode.NONE

    def check_push(
        self, now: float, subscription_id: int, codec: int, *, terminating: bool
    ) -> None:
        """Note a push. Raises KafkaError, as KIP-714 has it.

        The first push after a question may come at any time: clients vary it.
        """
        if self.is_terminating:
            reason = "the client has pushed for the last time: expected no more"
            raise KafkaError(ErrorCode.INVALID_REQUEST, reason)
        in_time = (
            self.last_subscription_request > self.pushed or now - self.pushed >= self._interval_s
        )
        if in_time:
            self.pushed = now
        elif not terminating:
            raise _throttled()
        if subscription_id != self.subscription.id:
            reason = f"subscription {subscription_id}: expected {self.subscription.id}"
            raise KafkaError(ErrorCode.UNKNOWN_SUBSCRIPTION_ID, reason)
        if codec not in set(Codec):
            reason = f"compression type {codec}: expected 0 to 4"
            raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, reason)

    @property
    def _interval_s(self) -> float:
        return self.subscription.interval_ms / 1000


@define(eq=False)
class ClientInstances:
    """All clients. kept: number of series."""

    kept: int = field(default=0, init=False)
    evicted: int = field(default=0, init=False)
    _instances: OrderedDict[bytes, ClientInstance] = field(factory=OrderedDict, init=False)

    def __len__(self) -> int:
        return len(self._instances)

    def __iter__(self) -> Iterator[ClientInstance]:
        return iter(tuple(self._instances.values()))

    def get(self, instance_id: bytes) -> ClientInstance | None:
        """Return a client, if it is known."""
        return self._instances.get(instance_id)

    def add(self, instance: ClientInstance) -> None:
        """Add a client."""
        self._instances[instance.id] = instance
        if len(self._instances) > MOST_INSTANCES:
            self.evicted += 1
            self._remove(next(iter(self._instances)))

    def touch(self, instance: ClientInstance, now: float) -> None:
        """Note a request of a client; forget those that were silent for too long."""
        instance.seen = now
        self._instances.move_to_end(instance.id)
        self.expire(now)

    def expire(self, now: float) -> None:
        """Forget clients from the longest silence on, up to the first that is still expected."""
        for instance_id, instance in tuple(self._instances.items())[:_AT_ONCE]:
            if now - instance.seen <= instance.life_s:
                return
            self._remove(instance_id)

    def keep(self, instance: ClientInstance, push: Push) -> None:
        """Keep what a client has pushed: the last value of each gauge, the sum of all deltas."""
        instance.pushes += 1
        instance.resource = push.resource
        instance.skipped += push.skipped + push.cut
        for point in push.points:
            series = point.name, tuple(sorted(point.attributes.items()))
            before = instance.values.get(series)
            if before is None:
                if len(instance.values) >= MOST_SERIES or self.kept >= MOST_IN_ALL:
                    instance.skipped += 1
                    continue
                self.kept += 1
            if before is not None and point.is_delta:
                instance.values[series] = _added(before, point)
            else:
                instance.values[series] = point

    def _remove(self, instance_id: bytes) -> None:
        self.kept -= len(self._instances.pop(instance_id).values)


_AT_ONCE: Final = 16  # clients that one request forgets


def _added(before: Point, point: Point) -> Point:
    return evolve(point, value=before.value + point.value, start_s=before.start_s)


def _throttled() -> KafkaError:
    reason = "the request comes before the end of the push interval"
    return KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, reason)


@frozen(kw_only=True)
class TelemetryLimits:
    """Limits of pushes. largest: `telemetry.max.bytes`."""

    largest: int

    @property
    def decoded(self) -> int:
        """Bytes after decompression: a push without compression may have as many.

        A million bytes of tiny messages take 50 ms to parse, in one call.
        """
        return max(self.largest, 1 << 20)
