"""What becomes of an exception in a request: an error code and a text, counted, told, and made an
answer.

A KafkaError is an answer; a bug is logged with its traceback and answered as UNKNOWN_SERVER_ERROR.
A ProtocolError ends the connection, and a broken invariant is no matter of one request: it goes on,
and stops the broker.
"""

from typing import Any, Final

import trio

from trio_kafka.attributes import define
from trio_kafka.errors import (
    ErrorCode,
    InvariantError,
    KafkaError,
    LogDirError,
    ProtocolError,
)
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.metrics import Counters
from trio_kafka.network.request import Request
from trio_kafka.requests.interceptors.registry import Interception, InterceptorError
from trio_kafka.requests.replies import Route

logger: Final = get_logger(__name__)
# Errors that say what is to become of the request.
MEANT: Final = (KafkaError, LogDirError, InvariantError, ProtocolError)


@define(eq=False)
class Failures:
    """Of the requests of a plane."""

    _counters: Counters

    def judge(
        self, request: Request, route: Route, error: BaseException
    ) -> tuple[ErrorCode, str | None]:
        """What an exception means. Raises it again if it is an InvariantError or ProtocolError."""
        if isinstance(error, InvariantError | ProtocolError):
            try:
                raise error
            finally:
                del error  # or it would hold itself, by this frame
        if isinstance(error, KafkaError):
            return error.code, error.message
        if isinstance(error, LogDirError):  # whose directory goes offline, and tells of it itself
            return ErrorCode.KAFKA_STORAGE_ERROR, None
        logger.error(
            "a handler failed",
            exc_info=error,
            api=route.api.name,
            version=route.version,
            client=request.client_id,
        )
        return ErrorCode.UNKNOWN_SERVER_ERROR, None

    def blame(
        self, one: Interception, request: Request, route: Route, error: BaseException
    ) -> tuple[ErrorCode, str | None]:
        """As `judge`, of what an interceptor raised. Its owner is told, unless it is an answer.

        Whatever it is, it ends here, but for a KeyboardInterrupt, which nobody raises by mistake.
        """
        if isinstance(error, KeyboardInterrupt):
            raise error
        if isinstance(error, MEANT):
            one.refused += 1
            return self.judge(request, route, error)
        one.errors += 1
        tell_owner(one, route.api.name, error)
        return ErrorCode.UNKNOWN_SERVER_ERROR, None

    def count(self, request: Request, route: Route, code: ErrorCode) -> None:
        """An answer says this error of the whole request."""
        request.stamps.error = int(code)
        self._counters.add("request_errors", api=route.api.name, error=code.name)

    def answer(
        self, request: Request, route: Route, message: Any, code: ErrorCode, text: str | None
    ) -> Any:
        """The error as an answer, counted. Raises KafkaError where the API cannot say it."""
        try:
            answer = route.error(message, code, text)
        except Exception:
            logger.exception("an error cannot be answered", api=route.api.name)
            answer = None
        if answer is None:
            raise KafkaError(code, text)
        self.count(request, route, code)
        return answer


def tell_owner(one: Interception, api: str, error: BaseException) -> None:
    """An interceptor failed: log it, and have its owner do what it does then."""
    where = one.where(api)
    logger.error("an interceptor failed", exc_info=error, owner=one.owner.name, where=where)
    try:
        one.owner.failed(error, where)
    except Exception:
        logger.exception("of a failure nobody could be told", owner=one.owner.name, where=where)


def tell_late(one: Interception, api: str, spent_s: float) -> None:
    """It was over its deadline, and nobody could end it: a plain function has no checkpoint."""
    one.late += 1
    tell_owner(one, api, trio.TooSlowError(f"{spent_s:.3f} s, want {one.deadline_s} s at most"))


def check_answer(one: Interception, route: Route, answer: Any, request: Request) -> None:
    """Raises InterceptorError for what is no answer of the API; ProtocolError, which ends the
    connection, if the interceptor has answered the request by itself: answers keep their order, and
    after two to one request none can be trusted.
    """
    where = one.where(route.api.name)
    if request.stamps.answered:
        error = InterceptorError(f"{one.owner.name} answered the request itself, {where}")
        one.errors += 1
        tell_owner(one, route.api.name, error)
        raise ProtocolError(str(error))
    response = route.api.response
    if not isinstance(answer, response):
        close = getattr(answer, "close", None)
        if close is not None:  # a coroutine that nobody awaits would complain
            close()
        found = type(answer).__name__
        raise InterceptorError(f"{one.owner.name} gave {found} {where}, want {response.__name__}")


def is_cancelled() -> bool:
    """Whether the code around this is being cancelled."""
    return trio.current_effective_deadline() == -float("inf")


def split_cancelled(
    error: BaseException,
) -> tuple[BaseException | None, BaseException | None]:
    """Cancellation that was asked for, and what else an exception holds.

    A Cancelled that nobody asked for is an error like others. For async code alone.
    """
    if not is_cancelled():
        return None, error
    if isinstance(error, trio.Cancelled):
        return error, None
    if isinstance(error, BaseExceptionGroup):
        return error.split(trio.Cancelled)
    return None, error
