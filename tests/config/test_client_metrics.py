"""Subscriptions to metrics of clients: their settings. Source: KIP-714."""

import pytest

from trio_kafka.config.client_metrics import (
    ClientMetricsConfig,
    client_metrics_config,
    patterns_of,
    validate_client_metrics,
)
from trio_kafka.errors import ErrorCode, KafkaError


def test_subscription_has_the_defaults_of_kafka() -> None:
    assert client_metrics_config({}) == ClientMetricsConfig(
        interval_ms=300_000, match=(), metrics=()
    )


def test_patterns_are_kept_by_label() -> None:
    patterns = patterns_of(("client_id=a.*", " client_software_name = x "))

    assert patterns["client_id"].fullmatch("abc")
    assert not patterns["client_id"].fullmatch("xabc")
    assert patterns["client_software_name"].fullmatch("x")


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("unknown", "1", ErrorCode.INVALID_REQUEST),
        ("interval.ms", "99", ErrorCode.INVALID_REQUEST),
        ("interval.ms", "3600001", ErrorCode.INVALID_REQUEST),
        ("interval.ms", "x", ErrorCode.INVALID_REQUEST),
        ("match", "client_id", ErrorCode.INVALID_CONFIG),
        ("match", "client_id=a=b", ErrorCode.INVALID_CONFIG),
        ("match", "colour=red", ErrorCode.INVALID_CONFIG),
        ("match", "client_id=(", ErrorCode.INVALID_CONFIG),
        ("match", "client_id=", ErrorCode.INVALID_CONFIG),
    ],
)
def test_invalid_subscription_is_rejected_as_in_kafka(
    name: str, text: str, code: ErrorCode
) -> None:
    with pytest.raises(KafkaError) as caught:
        validate_client_metrics({name: text})

    assert caught.value.code is code


@pytest.mark.parametrize("text", ["100", "3600000"])
def test_bounds_of_the_interval_are_valid(text: str) -> None:
    validate_client_metrics({"interval.ms": text, "match": "client_id=.*", "metrics": "*"})
