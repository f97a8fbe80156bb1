"""Answers to a request whose handler raises an exception."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from trio_kafka.errors import ErrorCode, InvariantError, KafkaError, LogDirError, ProtocolError
from trio_kafka.introspect.metrics import Counters
from trio_kafka.plugin import Context, api
from trio_kafka.requests.api import api_of
from trio_kafka.requests.failures import ErrorResponder, split_cancelled
from trio_kafka.requests.replies import make_route
from trio_kafka.testing.planes import bare_request
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse


@api(EchoRequest)
def echo(request: EchoRequest, context: Context) -> EchoResponse:
    return EchoResponse()


def route() -> Any:
    echo_api = api_of(echo)
    assert echo_api is not None
    return make_route(echo_api, 0)


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (KafkaError(ErrorCode.NOT_COORDINATOR, "elsewhere"), 16, "elsewhere"),
        (LogDirError("/data", "broken"), 56, None),
        (ValueError("bug"), -1, None),
    ],
)
def test_exception_of_a_handler_is_classified_as_error_code_and_message(
    caplog: pytest.LogCaptureFixture, error: Exception, code: int, text: str | None
) -> None:
    assert ErrorResponder(Counters()).classify(bare_request(), route(), error) == (code, text)
    assert ("handler failed" in caplog.text) is (code == -1)


@pytest.mark.parametrize("error", [InvariantError("two leaders"), ProtocolError("not so")])
def test_invariant_error_and_protocol_error_propagate(error: Exception) -> None:
    with pytest.raises(type(error)):
        ErrorResponder(Counters()).classify(bare_request(), route(), error)


def test_error_response_is_counted_by_api_and_code() -> None:
    counters, request = Counters(), bare_request()
    failures = ErrorResponder(counters)
    answer = failures.respond(
        request, route(), EchoRequest("x", 7), ErrorCode.NOT_COORDINATOR, "elsewhere"
    )

    assert (answer.error_code, answer.error_message, answer.number) == (16, "elsewhere", 7)
    assert counters.value("request_errors", api="Echo", error="NOT_COORDINATOR") == 1
    assert request.stamps.error == 16


async def test_requested_cancellation_is_separated_from_other_errors(
    autojump_clock: MockClock,
) -> None:
    kept: list[trio.Cancelled] = []
    with trio.CancelScope() as scope:
        scope.cancel()
        try:
            await trio.sleep_forever()
        except trio.Cancelled as error:
            kept.append(error)
            cancelled, bug = kept[0], ValueError()
            assert split_cancelled(cancelled) == (cancelled, None)
            assert split_cancelled(bug) == (None, bug)
            cancellation, rest = split_cancelled(BaseExceptionGroup("both", [cancelled, bug]))
            assert isinstance(cancellation, BaseExceptionGroup)
            assert isinstance(rest, ExceptionGroup)
            assert (cancellation.exceptions, rest.exceptions) == ((cancelled,), (bug,))
            del cancelled
            raise
    assert split_cancelled(kept[0]) == (None, kept[0])
    kept.clear()
