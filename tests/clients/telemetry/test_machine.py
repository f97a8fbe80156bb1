"""States of a client that pushes metrics. Source: KIP-714."""

import attrs
import pytest

from trio_kafka.clients.telemetry.machine import (
    DEFAULT_INTERVAL_S,
    State,
    Subscription,
    TelemetryMachine,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.records.compression import Codec

NEVER = float("inf")
ALL = Subscription(
    instance_id=b"i" * 16,
    subscription_id=7,
    interval_s=60.0,
    prefixes=["*"],
    codecs=[4, 2],
    is_delta=True,
    largest=1 << 20,
)


def subscribed(subscription: Subscription = ALL, chance: float = 0.5) -> TelemetryMachine:
    machine = TelemetryMachine()
    machine.begin()
    machine.subscribed(subscription, 100.0, chance)
    return machine


def test_client_asks_at_once_and_without_an_id() -> None:
    machine = TelemetryMachine()

    assert machine.next_time < 0
    assert machine.instance_id == bytes(16)
    assert machine.begin() is State.SUBSCRIPTION_IN_PROGRESS
    assert machine.next_time == NEVER


@pytest.mark.parametrize(("chance", "at"), [(0.0, 130.0), (0.5, 160.0), (1.0, 190.0)])
def test_first_push_comes_after_half_to_one_and_a_half_intervals(chance: float, at: float) -> None:
    machine = subscribed(chance=chance)

    assert (machine.state, machine.next_time) == (State.PUSH_NEEDED, at)


def test_later_pushes_come_at_the_interval() -> None:
    machine = subscribed()
    assert machine.begin() is State.PUSH_IN_PROGRESS
    machine.pushed(200.0)

    assert (machine.state, machine.next_time) == (State.PUSH_NEEDED, 260.0)
    assert machine.instance_id == b"i" * 16


def test_client_without_requested_metrics_asks_again_after_the_interval() -> None:
    machine = subscribed(attrs.evolve(ALL, prefixes=[]))

    assert (machine.state, machine.next_time) == (State.SUBSCRIPTION_NEEDED, 160.0)
    assert not machine.close()


def test_interval_that_makes_no_sense_is_five_minutes() -> None:
    machine = subscribed(attrs.evolve(ALL, interval_s=0.0))

    assert machine.next_time == 100.0 + DEFAULT_INTERVAL_S


@pytest.mark.parametrize(
    ("code", "at"),
    [
        (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, 200.0),
        (ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, 200.0),
        (ErrorCode.TELEMETRY_TOO_LARGE, 260.0),
        (ErrorCode.THROTTLING_QUOTA_EXCEEDED, 260.0),
        (ErrorCode.INVALID_REQUEST, NEVER),
        (ErrorCode.INVALID_RECORD, NEVER),
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, NEVER),
    ],
)
def test_rejected_push_leads_to_a_new_subscription_or_to_none(code: ErrorCode, at: float) -> None:
    machine = subscribed()
    machine.begin()
    machine.rejected(code, 200.0)

    assert (machine.state, machine.next_time) == (State.SUBSCRIPTION_NEEDED, at)
    assert machine.failure is (code if at == NEVER else None)


def test_failed_request_is_repeated_after_the_interval() -> None:
    first = TelemetryMachine()
    first.begin()
    first.failed(10.0)
    later = subscribed()
    later.begin()
    later.failed(200.0)

    assert first.next_time == 10.0 + DEFAULT_INTERVAL_S
    assert later.next_time == 260.0


@pytest.mark.parametrize("in_progress", [False, True])
def test_last_push_is_due_at_once_and_the_end(in_progress: bool) -> None:
    machine = subscribed()
    if in_progress:
        machine.begin()

    assert machine.close()
    assert machine.next_time < 0
    assert machine.begin() is State.LAST_PUSH_IN_PROGRESS
    machine.pushed(200.0)
    assert (machine.state, machine.next_time) == (State.ENDED, NEVER)
    assert not machine.close()


def test_client_that_has_ended_sends_nothing() -> None:
    machine = TelemetryMachine()
    machine.close()

    assert machine.begin() is None
    assert (machine.state, machine.next_time) == (State.ENDED, NEVER)


def test_answer_that_comes_during_the_end_changes_nothing() -> None:
    machine = subscribed()
    machine.close()
    machine.subscribed(attrs.evolve(ALL, prefixes=[]), 300.0, 0.5)

    assert machine.state is State.LAST_PUSH_NEEDED


def test_change_of_the_temporality_is_counted() -> None:
    machine = subscribed()
    machine.subscribed(attrs.evolve(ALL, is_delta=False), 200.0, 0.5)

    assert machine.resets == 1


@pytest.mark.parametrize(
    ("codecs", "codec"), [([4, 2], Codec.ZSTD), ([99, 1], Codec.GZIP), ([], Codec.NONE)]
)
def test_codec_is_the_first_that_both_know(codecs: list[int], codec: Codec) -> None:
    assert attrs.evolve(ALL, codecs=codecs).codec is codec
