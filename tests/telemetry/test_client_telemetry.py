"""Answers of a broker to clients that ask what to push, and push. Source: KIP-714."""

import itertools

import pytest

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.records.compression import Codec, compress
from trio_kafka.telemetry import otlp
from trio_kafka.telemetry.client_telemetry import ClientTelemetry
from trio_kafka.telemetry.instances import ClientInstance, TelemetryLimits
from trio_kafka.telemetry.metric import Point

LABELS = {"client_id": "me"}
DATA = otlp.encode([Point(name="n", value=2.0, attributes={}, time_s=1.0)], {})


def sized(size: int) -> bytes:
    return otlp.encode([Point(name="n" * size, value=2.0, attributes={}, time_s=1.0)], {})


class Harness:
    """Telemetry whose settings a test changes."""

    def __init__(self, **settings: str) -> None:
        self.texts = {"all": {"metrics": "*", "interval.ms": "10000", **settings}}
        numbers = itertools.count(2)
        self.telemetry = ClientTelemetry(
            lambda: self.texts,
            lambda: next(numbers).to_bytes(16, "big"),
            TelemetryLimits(largest=200),
        )

    def ask(self, now: float, instance_id: bytes = bytes(16)) -> ClientInstance:
        return self.telemetry.subscribe(instance_id, LABELS, now)

    def push(
        self,
        client: ClientInstance,
        now: float,
        *,
        data: bytes = DATA,
        codec: int = 0,
        terminating: bool = False,
        subscription_id: int | None = None,
    ) -> None:
        number = client.subscription.id if subscription_id is None else subscription_id
        self.telemetry.push(
            client.id,
            LABELS,
            now,
            subscription_id=number,
            codec=codec,
            data=data,
            terminating=terminating,
        )


def test_client_without_an_id_gets_one_and_keeps_it() -> None:
    harness = Harness()
    client = harness.ask(0.0)

    assert client.id == (2).to_bytes(16, "big")
    assert client.subscription.metrics == ("*",)
    assert harness.ask(10.0, client.id) is client


def test_question_before_the_end_of_the_interval_is_throttled() -> None:
    harness = Harness()
    client = harness.ask(0.0)

    with pytest.raises(KafkaError, match="push interval") as caught:
        harness.ask(9.9, client.id)

    assert caught.value.code is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert harness.telemetry.throttled == 1


def test_first_push_may_come_at_any_time_and_later_ones_at_the_interval() -> None:
    harness = Harness()
    client = harness.ask(0.0)
    harness.push(client, 0.1)
    with pytest.raises(KafkaError) as caught:
        harness.push(client, 10.0)
    harness.push(client, 10.1)

    assert caught.value.code is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert client.pushes == 2


def test_last_push_may_come_at_any_time_and_no_other_after_it() -> None:
    harness = Harness()
    client = harness.ask(0.0)
    harness.push(client, 1.0)
    harness.push(client, 2.0, terminating=True)
    with pytest.raises(KafkaError, match="last time") as caught:
        harness.push(client, 60.0)

    assert caught.value.code is ErrorCode.INVALID_REQUEST
    assert client.pushes == 2


def test_changed_subscription_counts_at_once_and_ends_the_interval() -> None:
    harness = Harness()
    client = harness.ask(0.0)
    before = client.subscription.id
    harness.texts = {"all": {"metrics": "org.a", "interval.ms": "10000"}}
    with pytest.raises(KafkaError) as caught:
        harness.push(client, 1.0, subscription_id=before)
    again = harness.ask(1.1, client.id)

    assert caught.value.code is ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    assert again.subscription.metrics == ("org.a",)
    assert again.subscription.id != before


@pytest.mark.parametrize("codec", list(Codec))
def test_push_is_decoded_in_every_codec(codec: Codec) -> None:
    harness = Harness()
    client = harness.ask(0.0)
    harness.push(client, 1.0, data=compress(codec, DATA), codec=codec)

    assert [point.value for point in client.values.values()] == [2.0]


def test_push_above_telemetry_max_bytes_is_rejected() -> None:
    harness = Harness()
    client = harness.ask(0.0)
    exact = next(data for size in range(200) if len(data := sized(size)) == 200)
    harness.push(client, 1.0, data=exact)
    with pytest.raises(KafkaError, match="201 bytes") as caught:
        harness.push(client, 11.0, data=bytes(201))

    assert (caught.value.code, client.pushes) == (ErrorCode.TELEMETRY_TOO_LARGE, 1)


@pytest.mark.parametrize(
    ("codec", "data", "code"),
    [
        (5, DATA, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        (-1, DATA, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        (4, b"garbage", ErrorCode.INVALID_RECORD),
        (0, b"garbage", ErrorCode.INVALID_RECORD),
        (4, compress(Codec.ZSTD, bytes(5 << 20))[:200], ErrorCode.INVALID_RECORD),
        (4, compress(Codec.ZSTD, b"\n\0" * (1 << 19) + b"\n\0"), ErrorCode.INVALID_RECORD),
    ],
)
def test_push_that_cannot_be_read_is_rejected(codec: int, data: bytes, code: ErrorCode) -> None:
    harness = Harness()
    client = harness.ask(0.0)
    with pytest.raises(KafkaError) as caught:
        harness.push(client, 1.0, data=data, codec=codec)

    assert caught.value.code is code
    assert harness.telemetry.figures()["rejected"] == 1


@pytest.mark.parametrize("instance_id", [bytes(16), bytes(15) + b"\1"])
def test_push_with_a_reserved_id_is_rejected(instance_id: bytes) -> None:
    with pytest.raises(KafkaError) as caught:
        Harness().telemetry.push(
            instance_id, LABELS, 0.0, subscription_id=1, codec=0, data=b"", terminating=False
        )

    assert caught.value.code is ErrorCode.INVALID_REQUEST
