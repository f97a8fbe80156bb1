"""Contract of interceptors: failures are counted, reported and answered."""

from typing import Any

import pytest
import trio

from trio_kafka.controls.interceptors import RecordingOwner
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError, ProtocolError
from trio_kafka.introspect.metrics import Counters
from trio_kafka.plugin import Context, api
from trio_kafka.requests.api import api_of
from trio_kafka.requests.failures import ErrorResponder
from trio_kafka.requests.interceptors.contract import Contract
from trio_kafka.requests.interceptors.registry import Interception, InterceptorError
from trio_kafka.requests.replies import make_route
from trio_kafka.testing.planes import bare_request
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse


@api(EchoRequest)
def echo(request: EchoRequest, context: Context) -> EchoResponse:
    return EchoResponse()


def contract() -> Contract:
    echo_api = api_of(echo)
    assert echo_api is not None
    return Contract(make_route(echo_api, 0), ErrorResponder(Counters()))


def interception(owner: RecordingOwner, deadline_s: float | None = None) -> Interception:
    return Interception(
        kind="before",
        key=None,
        function=lambda request, context: None,
        order=1,
        owner=owner,
        deadline_s=deadline_s,
        versions={},
    )


def test_only_calls_over_their_deadline_are_reported_to_the_owner() -> None:
    owner = RecordingOwner()
    interceptor = interception(owner, deadline_s=0.5)
    for spent_s in (0.1, 0.6, 0.2):
        contract().count(interceptor, spent_s)

    assert (interceptor.calls, interceptor.late, interceptor.longest_s) == (3, 1, 0.6)
    assert interceptor.seconds == pytest.approx(0.9)
    ((error, where),) = owner.failures
    assert isinstance(error, trio.TooSlowError)
    assert (str(error), where) == ("took 0.600 s, want at most 0.5 s", "before Echo")


@pytest.mark.parametrize("response", [None, "text", EchoRequest()])
def test_interceptor_result_that_is_no_response_of_the_api_is_rejected(response: Any) -> None:
    with pytest.raises(InterceptorError, match=r"gave \w+ before Echo, want EchoResponse"):
        contract().check(interception(RecordingOwner()), response, bare_request())
    contract().check(interception(RecordingOwner()), EchoResponse(), bare_request())


def test_an_interceptor_that_answered_the_request_itself_loses_the_connection() -> None:
    owner, request = RecordingOwner(), bare_request()
    interceptor = interception(owner)
    request.stamps.answered = 1.0

    with pytest.raises(ProtocolError, match="answered the request itself"):
        contract().check(interceptor, EchoResponse(), request)
    assert (interceptor.errors, len(owner.failures)) == (1, 1)


def test_interceptor_errors_become_responses_and_only_bugs_are_reported() -> None:
    owner = RecordingOwner()
    interceptor = interception(owner)
    refused = contract().respond_to(
        interceptor,
        bare_request(),
        EchoRequest(),
        KafkaError(ErrorCode.NOT_COORDINATOR, "elsewhere"),
    )
    assert (refused.error_code, interceptor.refused, interceptor.errors, owner.failures) == (
        16,
        1,
        0,
        [],
    )

    bug = SystemExit()
    failed = contract().respond_to(interceptor, bare_request(), EchoRequest(), bug)
    assert (failed.error_code, interceptor.refused, interceptor.errors) == (-1, 1, 1)
    assert owner.failures == [(bug, "before Echo")]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), InvariantError("two leaders")])
def test_keyboard_interrupt_and_invariant_error_of_an_interceptor_propagate(
    error: BaseException,
) -> None:
    with pytest.raises(type(error)):
        contract().respond_to(interception(RecordingOwner()), bare_request(), EchoRequest(), error)
