"""Verdicts: one function for each, which gives the response of a request that gets a fault."""

from collections.abc import Awaitable, Callable
from copy import copy
from typing import Any, Final

from trio_kafka.attributes import frozen
from trio_kafka.controls.faults.asked_parts import ANSWERED_IN_FULL, in_full
from trio_kafka.controls.faults.damage import (
    damaged_response,
    with_damaged_records,
    with_read_ranges,
)
from trio_kafka.controls.faults.partial_errors import NoPlaceError, PartialErrors, combined
from trio_kafka.controls.faults.parts import NamedParts, Names
from trio_kafka.controls.faults.rule import FaultRule
from trio_kafka.errors import ErrorCode, KafkaError, ProtocolError
from trio_kafka.pending import NO_ANSWER
from trio_kafka.protocol.messages.k01_fetch import FetchRequest
from trio_kafka.requests.context import Context
from trio_kafka.requests.error_answers import wants_answer

Forward = Callable[[object], Awaitable[object]]
_THROTTLE_TIME: Final = "throttle_time_ms"


@frozen(kw_only=True)
class StruckRequest:
    """Request that gets the fault of a rule.

    forward: serves the request. is_named: whether the rule's conditions hold for a part.
    """

    rule: FaultRule
    request: Any
    context: Context
    forward: Forward
    parts: NamedParts
    is_named: Callable[[Names], bool]


async def apply(struck: StruckRequest) -> object:
    """Return the response that the verdict of the rule leads to.

    Raises KafkaError, and ProtocolError to close the connection.
    """
    return await _VERDICTS[struck.rule.verdict](struck)


async def _serve(struck: StruckRequest) -> object:
    return await struck.forward(struck.request)


async def _respond(struck: StruckRequest) -> object:
    response = struck.rule.respond
    return response(struck.request, struck.context) if callable(response) else copy(response)


async def _drop(_: StruckRequest) -> object:
    return NO_ANSWER


async def _disconnect(struck: StruckRequest) -> object:
    if struck.rule.disconnect == "after":
        await struck.forward(struck.request)
    raise ProtocolError("closed by a fault rule")


async def _throttle(struck: StruckRequest) -> object:
    response = await struck.forward(struck.request)
    if hasattr(response, _THROTTLE_TIME):
        wait_ms = round(struck.rule.throttle_s * 1000)
        response.throttle_time_ms = max(response.throttle_time_ms, wait_ms)
    return response


async def _corrupt(struck: StruckRequest) -> object:
    if struck.rule.corrupt == "request":
        return await struck.forward(with_damaged_records(struck.request))
    response = await struck.forward(struck.request)
    if response is None:
        return None
    readable = await with_read_ranges(response)
    if struck.rule.corrupt == "records":
        return with_damaged_records(readable)
    return damaged_response(readable, struck.context.version)


# --- errors


async def _fail(struck: StruckRequest) -> object:
    """Fail the named parts of a request, and serve the others."""
    rule, request = struck.rule, struck.request
    code = rule.error or ErrorCode.UNKNOWN_SERVER_ERROR
    error = KafkaError(code, "fault rule")
    is_late = code is ErrorCode.REQUEST_TIMED_OUT  # Kafka's work goes on after it
    if not rule.names_parts or struck.is_named(struck.parts.of_whole(request)):
        if is_late:
            await struck.forward(request)
        raise error
    if isinstance(request, ANSWERED_IN_FULL):
        return await _fail_in_response(struck, code)
    named = struck.parts.only(request, struck.is_named)
    rest = struck.parts.only(request, lambda names: not struck.is_named(names))
    if not wants_answer(request):
        if is_late or rest is not None:
            await struck.forward(request if is_late else rest)
        raise error  # closes the connection, as an error with acks=0 does
    wrong = _error_response(struck, code, named)
    if is_late:
        return combined(await struck.forward(request), wrong, request)
    if rest is None:
        return wrong
    return combined(await struck.forward(rest), wrong, request)


async def _fail_in_response(struck: StruckRequest, code: ErrorCode) -> object:
    """Replace parts of a response that names more than the request."""
    request, forwarded = struck.request, struck.request
    if isinstance(request, FetchRequest):
        request = in_full(request, struck.context)
        forwarded = copy(forwarded)
        forwarded.max_wait_ms = 0  # a partition with an error is answered at once
    response = await struck.forward(forwarded)
    if getattr(response, "error_code", 0):
        return response
    named = request if isinstance(request, FetchRequest) else response
    selected = struck.parts.only(named, struck.is_named)
    if selected is None:
        return response
    return combined(response, _error_response(struck, code, selected, type(response)), named)


def _error_response(
    struck: StruckRequest, code: ErrorCode, request: object, cls: type[object] | None = None
) -> object:
    """Return a response that has only the errors of the parts in `request`. Raises KafkaError."""
    errors = PartialErrors(
        parts=struck.parts,
        version=struck.context.version,
        code=code,
        text="fault rule",
        decides=struck.is_named,
    )
    response = cls or struck.context.request.route.api.response
    try:
        return errors.response(request, response)
    except NoPlaceError as error:
        raise KafkaError(code, str(error)) from error


_VERDICTS: Final[dict[str, Callable[[StruckRequest], Awaitable[object]]]] = {
    "error": _fail,
    "respond": _respond,
    "drop": _drop,
    "disconnect": _disconnect,
    "delay_s": _serve,
    "hold": _serve,
    "throttle_s": _throttle,
    "corrupt": _corrupt,
    "observe": _serve,
}
