"""The phase of authentication of one processor: performs the steps of its authenticators."""

from collections.abc import Callable
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import InvariantError, ProtocolError
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.log_pace import LogPace
from trio_kafka.introspect.recent_values import RecentValues
from trio_kafka.introspect.tree import Figures
from trio_kafka.network.authentication.deadlines import LOGIN_S, LoginDeadlines
from trio_kafka.network.authentication.failures import FailedAuthentications
from trio_kafka.network.authenticator import Authenticator, Step
from trio_kafka.network.connection import Connection
from trio_kafka.network.reasons import CloseReason
from trio_kafka.network.sending import AnswerSender
from trio_kafka.scheduling.loop_budget import LoopBudget
from trio_kafka.wire.frame import Frame, FrameLimits

_logger = get_logger(__name__)
_LINES: Final = 20  # of failures, in a second


@frozen(kw_only=True)
class Authentication:
    """How the connections of one listener are authenticated.

    begin: makes an authenticator. largest: bytes of a frame before that
        (`sasl.server.max.receive.size`). delay_s: before a failed connection is closed.
    """

    begin: Callable[[], Authenticator] = field(repr=False)  # it knows passwords
    largest: int
    delay_s: float


@define(eq=False)
class AuthenticationCounts:
    """Counters of one processor, as in Kafka's socket-server-metrics.

    without_renewal: of those that succeeded, clients that cannot renew a session.
    renewal_ms: time that renewals took.
    """

    succeeded: int = 0
    without_renewal: int = 0
    failed: int = 0
    renewed: int = 0
    failed_renewals: int = 0
    expired: int = 0
    renewal_ms: RecentValues = field(factory=RecentValues)


@define(eq=False)
class AuthenticationPhase:
    """Authentication of one processor's connections.

    whole: limits of the frames of an authenticated client. queue: has a connection received from.
    """

    _authentication: Authentication
    _sender: AnswerSender
    _budget: LoopBudget
    _queue: Callable[[Connection], None] = field(kw_only=True)
    _whole: FrameLimits = field(kw_only=True)
    counts: AuthenticationCounts = field(factory=AuthenticationCounts, init=False)
    failures: FailedAuthentications = field(init=False)
    deadlines: LoginDeadlines = field(init=False)
    _pace: LogPace = field(factory=lambda: LogPace(_LINES), init=False)
    _first: FrameLimits = field(init=False)

    def __attrs_post_init__(self) -> None:
        largest = self._authentication.largest
        self.failures = FailedAuthentications(self._sender, self._authentication.delay_s)
        self.deadlines = LoginDeadlines(self._end_late)
        # A token without a header may be empty.
        self._first = FrameLimits(whole=largest, common=largest, declared=lambda _: 0, least=0)

    def begin(self, connection: Connection) -> None:
        """Let a new connection authenticate."""
        connection.authenticator = self._authentication.begin()
        connection.framer.limit(self._first)
        self.deadlines.begin(connection)

    def admit(self, connection: Connection, frame: Frame) -> bool:
        """Return whether a frame is a request to serve; otherwise it is dealt with here."""
        authenticator = connection.authenticator
        if authenticator is None:
            return True
        was_renewing = authenticator.is_renewing
        try:
            step = authenticator.take(frame, self._budget.elapsed())
        except ProtocolError as error:
            # Not counted, as in Kafka: such a client does not try to log in.
            self._log_failure(connection, str(error), is_renewal=was_renewing)
            self._reject(connection, str(error))
            return False
        except InvariantError:
            raise
        except Exception as error:  # noqa: BLE001 - a client that nobody knows must not end the others
            reason = _place_of(error)
            self._note_failure(connection, reason, is_renewal=was_renewing)
            self._reject(connection, reason)
            return False
        if step.passes:
            return True
        connection.framer.done()
        if step.is_expired:
            self.counts.expired += 1
            self._sender.end(connection, CloseReason.EXPIRED)
        elif step.failure is not None:
            is_renewal = authenticator.is_renewing
            self.deadlines.end(connection)
            self._note_failure(connection, step.failure, is_renewal=is_renewal)
            self.failures.add(connection, step.answer, step.failure)
        else:
            self._go_on(connection, authenticator, step)
        return False

    def refuse(self, connection: Connection, reason: str) -> bool:
        """Fail a login for a frame of a wrong size; return whether the connection logs in."""
        authenticator = connection.authenticator
        if authenticator is None or not authenticator.is_logging_in:
            return False
        self.deadlines.end(connection)
        connection.framer.drop()
        self._note_failure(connection, reason, is_renewal=authenticator.is_renewing)
        self.failures.add(connection, None, reason)
        return True

    def _reject(self, connection: Connection, reason: str) -> None:
        """Close a connection without an answer."""
        self.deadlines.end(connection)
        connection.framer.done()
        self._sender.end(connection, CloseReason.UNAUTHENTICATED, reason)

    def _end_late(self, connection: Connection) -> None:
        """Close a connection that has not logged in by its deadline."""
        reason = f"no login within {LOGIN_S:.0f} s"
        self._note_failure(connection, reason, is_renewal=False)
        self._sender.end(connection, CloseReason.UNAUTHENTICATED, reason)

    def _go_on(self, connection: Connection, authenticator: Authenticator, step: Step) -> None:
        if step.principal is not None:
            self.deadlines.end(connection)
            connection.principal = step.principal
            connection.framer.limit(self._whole)
            if step.is_last:
                connection.authenticator = None
            self._note_success(step)
        elif authenticator.is_renewing:
            connection.framer.limit(self._first)
        if step.answer is not None:
            self._sender.send_now(connection, step.answer)
        if not (connection.closed or connection.muted):
            self._queue(connection)

    def _note_success(self, step: Step) -> None:
        counts = self.counts
        if step.renewal_s is not None:
            counts.renewed += 1
            # Source: Kafka rounds to milliseconds, and up to the first one.
            took_ms = max(1, round(step.renewal_s * 1000)) if step.renewal_s else 0
            counts.renewal_ms.add(took_ms, self._budget.elapsed())
        else:
            counts.succeeded += 1
            counts.without_renewal += not step.knows_sessions

    def _note_failure(self, connection: Connection, reason: str, *, is_renewal: bool) -> None:
        if is_renewal:
            self.counts.failed_renewals += 1
        else:
            self.counts.failed += 1
        self._log_failure(connection, reason, is_renewal=is_renewal)

    def _log_failure(self, connection: Connection, reason: str, *, is_renewal: bool) -> None:
        others = self._pace.admit(trio.current_time())
        if others is None:
            return
        authenticator = connection.authenticator
        _logger.warning(
            "authentication failed",
            peer=str(connection.peer),
            listener=connection.listener.name,
            mechanism=None if authenticator is None else authenticator.mechanism,
            renewal=is_renewal,
            reason=reason,
            others=others,
        )

    def figures(self) -> Figures:
        """Return figures for the tree."""
        counts = self.counts
        return {
            "succeeded": counts.succeeded,
            "without_renewal": counts.without_renewal,
            "failed": counts.failed,
            "renewed": counts.renewed,
            "failed_renewals": counts.failed_renewals,
            "expired": counts.expired,
            "closing": len(self.failures),
            "logging_in": len(self.deadlines),
        }


def _place_of(error: Exception) -> str:
    """Return what broke and where, without the message: it may quote a password."""
    place, last = "", error.__traceback__
    while last is not None:
        place = f" at {last.tb_frame.f_code.co_filename.rpartition('/')[2]}:{last.tb_lineno}"
        last = last.tb_next
    return f"the authenticator broke: {type(error).__name__}{place}"
