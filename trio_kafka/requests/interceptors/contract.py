"""Contract of interceptors on one route: what they may return, and what a violation leads to."""

from typing import Final

import trio

from trio_kafka.attributes import frozen
from trio_kafka.errors import ErrorCode, ProtocolError
from trio_kafka.introspect.log import get_logger
from trio_kafka.network.request import Request
from trio_kafka.requests.failures import INTENDED_ERRORS, ErrorResponder
from trio_kafka.requests.interceptors.registry import Interception, InterceptorError
from trio_kafka.requests.replies import Route

logger: Final = get_logger(__name__)


@frozen
class Contract:
    """Counts calls, checks responses and answers for failures of a route's interceptors."""

    _route: Route
    _errors: ErrorResponder

    def count(self, interception: Interception, spent_s: float) -> None:
        """Count a call of a plain function, and report it if it took longer than its deadline.

        A plain function cannot be cancelled, so it is reported afterwards.
        """
        interception.calls += 1
        interception.seconds += spent_s
        if spent_s > interception.alarm_s and interception.note_slow(spent_s):
            self.report_late(interception, f"took {spent_s:.3f} s")

    def report_late(self, interception: Interception, problem: str) -> None:
        """Report a call that exceeded its deadline to its owner."""
        interception.late += 1
        error = trio.TooSlowError(f"{problem}, want at most {interception.deadline_s} s")
        self.report(interception, error)

    def report(self, interception: Interception, error: BaseException) -> None:
        """Log a failure and report it to the owner."""
        owner, where = interception.owner, interception.where(self._route.api.name)
        logger.error("interceptor failed", exc_info=error, owner=owner.name, where=where)
        try:
            owner.failed(error, where)
        except Exception:
            logger.exception("owner rejected failure report", owner=owner.name, where=where)

    def check(self, interception: Interception, response: object, request: Request) -> None:
        """Check that an interceptor returned a response of the API.

        Raises InterceptorError if not. Raises ProtocolError, which ends the connection, if the
        interceptor sent a response itself: after two responses to one request the client can
        assign none.
        """
        owner, where = interception.owner, interception.where(self._route.api.name)
        if request.stamps.answered:
            error = InterceptorError(f"{owner.name} answered the request itself, {where}")
            interception.errors += 1
            self.report(interception, error)
            raise ProtocolError(str(error))
        expected = self._route.api.response
        if not isinstance(response, expected):
            close = getattr(response, "close", None)
            if close is not None:  # else Python warns about a coroutine that was never awaited
                close()
            actual = type(response).__name__
            raise InterceptorError(f"{owner.name} gave {actual} {where}, want {expected.__name__}")

    def respond_to(
        self, interception: Interception, request: Request, message: object, error: BaseException
    ) -> object:
        """Return the response for what an interceptor raised; report a bug to its owner.

        Every exception ends here except KeyboardInterrupt. Raises KafkaError, ProtocolError or
        InvariantError, as `ErrorResponder` does.
        """
        errors, route = self._errors, self._route
        if isinstance(error, KeyboardInterrupt):
            raise error
        if isinstance(error, INTENDED_ERRORS):
            interception.refused += 1
            return errors.respond_to(request, route, message, error)
        interception.errors += 1
        self.report(interception, error)
        return errors.respond(request, route, message, ErrorCode.UNKNOWN_SERVER_ERROR, None)
