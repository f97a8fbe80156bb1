"""Endpoint of requests from within, and what they end with instead of a response."""

import pytest

from trio_kafka.plugin import RefusedError
from trio_kafka.requests.loopback.endpoint import IN_PROCESS, LISTENER


@pytest.mark.parametrize(
    ("detail", "message"),
    [("key 999 version 0", "unknown API: key 999 version 0"), ("", "unknown API")],
)
def test_a_refusal_says_the_reason_and_the_detail(detail: str, message: str) -> None:
    error = RefusedError("unknown API", detail)

    assert str(error) == message
    assert (error.reason, error.detail) == ("unknown API", detail)


def test_no_client_can_have_the_listener() -> None:
    assert LISTENER.name == IN_PROCESS.host
    assert LISTENER.name != LISTENER.name.upper()
