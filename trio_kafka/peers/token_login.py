"""Token of a client: kept, renewed before it ends, and asked for again when that fails. No I/O.

Theory of operation. A connection presents the token while it is valid. From some time before its
end on it is due: then, and if there is none, the caller makes the attempts that `renewal` yields,
each after a pause, in a thread or wherever it may block. While an old token is valid, a failure is
no error, and the source is left alone for ten seconds, as in Kafka. A broker ends a session with
its token; our clients open their next connection at 0.85 of that time, when the token is due.
"""

from collections.abc import Callable, Generator
from functools import partial
from itertools import count
from typing import Final

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.peers.blocking_tokens import TokenRefusedError, read_source
from trio_kafka.security.tokens.bearer import BearerToken
from trio_kafka.security.tokens.claims import InvalidTokenError
from trio_kafka.security.tokens.login import TokenLogin

_logger: Final = get_logger(__name__)
_LEFT_ALONE_S: Final = 10.0  # after a failure, while the old token is valid
_MOST_DOUBLINGS: Final = 20
FAILURES: Final = (TokenRefusedError, OSError)
"""Exceptions of an attempt; throw them into the generator."""


@frozen
class Attempt:
    """An attempt to read a token. after_s: pause before it. call: blocks; raises `FAILURES`."""

    after_s: float
    call: Callable[[], str]


@define(eq=False, kw_only=True)
class TokenKeeper:
    """The token of one client.

    wall: wall-clock time in seconds. now: time of retries. chance: random number from 0 to 1.
    """

    login: TokenLogin
    wall: Callable[[], float]
    now: Callable[[], float]
    chance: Callable[[], float]
    renewals: int = field(default=0, init=False)
    failures: int = field(default=0, init=False)
    _token: BearerToken | None = field(default=None, init=False)
    _due_s: float = field(default=0.0, init=False)
    _failure: tuple[str, bool] = field(default=("", False), init=False)

    @property
    def present(self) -> BearerToken | None:
        """The token, if it need not be renewed yet."""
        return self._token if self.wall() < self._due_s else None

    @property
    def valid(self) -> BearerToken | None:
        """The token, if it has not ended by our own clock."""
        token = self._token
        return token if token is not None and self.wall() < token.expires_s else None

    @property
    def due_in_s(self) -> float:
        """Seconds until the token is due; negative: it is."""
        return self._due_s - self.wall()

    def renewal(self, *, once: bool = False) -> Generator[Attempt, str, BearerToken]:
        """Yield attempts, be sent the text of a token or thrown a failure, and return the token.

        once: make one attempt only. Raises KafkaError(SASL_AUTHENTICATION_FAILED) if the source
        refuses; OSError once the time of retries is over.
        """
        end_s = self.now() + self.login.retries_s
        pause_s = 0.0
        for number in count():
            try:
                text = yield Attempt(pause_s, partial(read_source, self.login.source, self.wall()))
                return self._take(text)
            except (TokenRefusedError, InvalidTokenError) as error:
                return self._fall_back(f"no token: {error}", error, is_final=True)
            except OSError as error:
                pause_s = self.login.backoff_s * (1 << min(number, _MOST_DOUBLINGS))
                pause_s = min(pause_s, end_s - self.now())
                if once or pause_s <= 0:
                    return self._fall_back(f"no token: {error}", error, is_final=False)
        raise AssertionError  # the loop has no end

    def _take(self, text: str) -> BearerToken:
        token, now_s = self.login.read(text), self.wall()
        if token.expires_s <= now_s:
            _logger.warning("token has expired already", hint="compare the clocks of both sides")
        self._token = token
        self._due_s = self.login.renewal.due_s(token, now_s, self.chance())
        self.renewals += 1
        return token

    def _fall_back(self, reason: str, cause: Exception, *, is_final: bool) -> BearerToken:
        """Return the old token if it is valid. Raises KafkaError, OSError."""
        now_s = self.wall()
        self.failures += 1
        self._failure = (reason, is_final)
        if (token := self.valid) is not None:
            _logger.warning("token not renewed", reason=reason)
            self._due_s = min(now_s + _LEFT_ALONE_S, token.expires_s)
            return token
        raise self.failure() from cause

    def failure(self) -> KafkaError | OSError:
        """Return the error of the last failed renewal, to raise it."""
        reason, is_final = self._failure
        if is_final:
            return KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, reason)
        return OSError(reason)


def wait_token(keeper: TokenKeeper, sleep: Callable[[float], object]) -> BearerToken:
    """Return the token, in the calling thread; one that is due is renewed by a single attempt.

    Raises as `TokenKeeper.renewal`.
    """
    token = keeper.present
    if token is not None:
        return token
    attempts = keeper.renewal(once=keeper.valid is not None)
    try:
        attempt = next(attempts)
        while True:
            sleep(attempt.after_s)
            try:
                text = attempt.call()
            except FAILURES as error:
                attempt = attempts.throw(error)
            else:
                attempt = attempts.send(text)
    except StopIteration as end:
        renewed: BearerToken = end.value
        return renewed
