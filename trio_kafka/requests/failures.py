"""Error responses: the error code of an exception, and the response that carries it.

A KafkaError is a response. object other exception is a bug: it is logged with its traceback and
answered with UNKNOWN_SERVER_ERROR. A ProtocolError ends the connection. An InvariantError concerns
more than one request: it is raised again, and stops the broker.
"""

from typing import Final

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
from trio_kafka.requests.replies import Route

logger: Final = get_logger(__name__)
# Errors that decide the outcome of a request; none of them is a bug.
INTENDED_ERRORS: Final = (KafkaError, LogDirError, InvariantError, ProtocolError)


@define(eq=False)
class ErrorResponder:
    """Error responses of one plane, and their counters."""

    _counters: Counters

    def classify(
        self, request: Request, route: Route, error: BaseException
    ) -> tuple[ErrorCode, str | None]:
        """Return the error code and the message for an exception; log a bug.

        Raises an InvariantError or a ProtocolError again.
        """
        if isinstance(error, InvariantError | ProtocolError):
            try:
                raise error
            finally:
                del error  # the exception refers to this frame: break the reference cycle
        if isinstance(error, KafkaError):
            return error.code, error.message
        if isinstance(error, LogDirError):  # the log directory that fails logs it
            return ErrorCode.KAFKA_STORAGE_ERROR, None
        logger.error(
            "handler failed",
            exc_info=error,
            api=route.api.name,
            version=route.version,
            client=request.client_id,
        )
        return ErrorCode.UNKNOWN_SERVER_ERROR, None

    def respond(
        self, request: Request, route: Route, message: object, code: ErrorCode, text: str | None
    ) -> object:
        """Return the response with an error, and count it.

        Raises KafkaError if no response of the API can carry an error.
        """
        try:
            response = route.error(message, code, text)
        except Exception:
            logger.exception("error response failed", api=route.api.name)
            response = None
        if response is None:
            raise KafkaError(code, text)
        self.count(request, route, code)
        return response

    def respond_to(
        self, request: Request, route: Route, message: object, error: Exception
    ) -> object:
        """Return the response for the exception of a handler. Raises like `classify`, `respond`."""
        code, text = self.classify(request, route, error)
        return self.respond(request, route, message, code, text)

    def count(self, request: Request, route: Route, code: ErrorCode) -> None:
        """Count an error that concerns a whole request."""
        request.stamps.error = int(code)
        self._counters.add("request_errors", api=route.api.name, error=code.name)


def is_cancelled() -> bool:
    """Return whether the surrounding scopes are being cancelled."""
    return trio.current_effective_deadline() == -float("inf")


def split_cancelled(
    error: BaseException,
) -> tuple[BaseException | None, BaseException | None]:
    """Split an exception into requested cancellation and everything else. For async code only.

    A Cancelled that no scope requested is an error like any other.
    """
    if not is_cancelled():
        return None, error
    if isinstance(error, trio.Cancelled):
        return error, None
    if isinstance(error, BaseExceptionGroup):
        return error.split(trio.Cancelled)
    return None, error
