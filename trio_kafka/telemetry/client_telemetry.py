"""Telemetry of clients as a broker serves it: answers to their two requests. No I/O.

Part of a broker, which handlers reach as `context[ClientTelemetry]`.
"""

from collections.abc import Callable, Mapping
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Figures
from trio_kafka.records.compression import Codec, decompress
from trio_kafka.telemetry import otlp
from trio_kafka.telemetry.instances import (
    MOST_SERIES,
    ClientInstance,
    ClientInstances,
    TelemetryLimits,
)
from trio_kafka.telemetry.subscriptions import Subscriptions

CODECS: Final = (Codec.ZSTD, Codec.LZ4, Codec.GZIP, Codec.SNAPPY)
_NO_INSTANCE: Final = frozenset({bytes(16), bytes(15) + b"\1"})  # ids that Kafka reserves
Texts = Mapping[str, Mapping[str, str]]


@define(eq=False)
class ClientTelemetry:
    """Subscriptions and clients.

    subscribed: returns the settings of all subscriptions, the same object until they change.
    new_id: returns 16 random bytes.
    """

    subscribed: Callable[[], Texts]
    new_id: Callable[[], bytes]
    limits: TelemetryLimits
    instances: ClientInstances = field(factory=ClientInstances, init=False)
    throttled: int = field(default=0, init=False)
    rejected: int = field(default=0, init=False)
    _texts: Texts | None = field(default=None, init=False)
    _subscriptions: Subscriptions = field(factory=lambda: Subscriptions({}), init=False)
    _version: int = field(default=0, init=False)

    @property
    def is_subscribed(self) -> bool:
        """Whether there is a subscription, for any client."""
        return bool(self.subscribed())

    def subscribe(
        self, instance_id: bytes, labels: Mapping[str, str], now: float
    ) -> ClientInstance:
        """Return the client with its subscription, a new one for an id of zeros.

        labels: see `config.client_metrics.LABELS`, without the instance id.
        Raises KafkaError(THROTTLING_QUOTA_EXCEEDED) before the end of the interval.
        """
        if instance_id == bytes(16):
            instance_id = self.new_id()
        instance = self._instance(instance_id, labels, now)
        try:
            instance.take_ask(now)
        except KafkaError:
            self.throttled += 1
            raise
        return instance

    def push(
        self,
        instance_id: bytes,
        labels: Mapping[str, str],
        now: float,
        *,
        subscription_id: int,
        codec: int,
        data: bytes,
        terminating: bool,
    ) -> None:
        """Take what a client pushes. Raises KafkaError, as KIP-714 has it."""
        if instance_id in _NO_INSTANCE:
            reason = f"client instance id {instance_id.hex()}: expected the one of a subscription"
            raise KafkaError(ErrorCode.INVALID_REQUEST, reason)
        instance = self._instance(instance_id, labels, now)
        try:
            instance.check_push(now, subscription_id, codec, terminating=terminating)
            if len(data) > self.limits.largest:
                reason = f"{len(data)} bytes: expected at most {self.limits.largest}"
                raise KafkaError(ErrorCode.TELEMETRY_TOO_LARGE, reason)
            if data:
                self.instances.keep(instance, self._decoded(Codec(codec), data))
        except KafkaError as error:
            self.throttled += error.code is ErrorCode.THROTTLING_QUOTA_EXCEEDED
            self.rejected += error.code is not ErrorCode.THROTTLING_QUOTA_EXCEEDED
            instance.last_error = error.code
            raise
        finally:
            instance.is_terminating = terminating
        instance.last_error = ErrorCode.NONE

    def figures(self) -> Figures:
        """Return the figures of the telemetry for the tree."""
        return {
            "clients": len(self.instances),
            "series": self.instances.kept,
            "throttled": self.throttled,
            "rejected": self.rejected,
            "evicted": self.instances.evicted,
        }

    def _decoded(self, codec: Codec, data: bytes) -> otlp.Push:
        try:
            plain = decompress(codec, data, self.limits.decoded)
        except KafkaError as error:
            raise KafkaError(ErrorCode.INVALID_RECORD, str(error)) from error
        return otlp.decode(plain, MOST_SERIES)

    def _instance(
        self, instance_id: bytes, labels: Mapping[str, str], now: float
    ) -> ClientInstance:
        """Return a client, with a subscription by the present settings."""
        self._refresh()
        labels = {**labels, "client_instance_id": _text(instance_id)}
        instance = self.instances.get(instance_id)
        if instance is None:
            instance = ClientInstance(
                instance_id,
                labels,
                self._subscriptions.of(instance_id, labels),
                self._version,
                now,
            )
            self.instances.add(instance)
        elif instance.version != self._version:
            instance.subscription = self._subscriptions.of(instance_id, labels)
            instance.version = self._version
            instance.last_subscription_request = instance.pushed = float("-inf")
            instance.is_terminating = False
        self.instances.touch(instance, now)
        return instance

    def _refresh(self) -> None:
        texts = self.subscribed()
        if texts is not self._texts:
            self._texts = texts
            self._version += 1
            usable = texts if otlp.is_installed() else {}
            self._subscriptions = Subscriptions(usable)


def _text(instance_id: bytes) -> str:
    """Return an id as Kafka writes it."""
    import base64  # noqa: PLC0415 - few brokers have clients that push

    return base64.urlsafe_b64encode(instance_id).decode().rstrip("=")
