"""SASL as a phase of the connection: versions, a mechanism, its tokens, then requests.

Theory of operation. A client may ask for ApiVersions once, names a mechanism by SaslHandshake, and
sends the tokens of the mechanism: after handshake version 1 within SaslAuthenticate, after version
0 as bare frames. ApiVersions is served like any request; all else is answered here, so no request
of a stranger reaches a handler. Where `connections.max.reauth.ms` or the credential limits the
session, the authenticator stays: the client begins again with SaslHandshake, with the same
mechanism and the same principal; after the end of the session its next request closes the
connection. Requests in flight are not touched. Source: SaslServerAuthenticator of Apache Kafka
4.4.0; KIP-43, KIP-152, KIP-368.
"""

import struct
from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Final

from trio_kafka.errors import ErrorCode, ProtocolError
from trio_kafka.network.authentication.sasl_frames import (
    API_VERSIONS,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    Head,
    challenge,
    decode,
    encode,
    illegal_state,
    is_known,
    read_head,
    rejection,
)
from trio_kafka.network.authenticator import PASS, Step
from trio_kafka.protocol.client_software import names_software
from trio_kafka.protocol.messages.k17_sasl_handshake import (
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest
from trio_kafka.security.principal import USER, Principal
from trio_kafka.security.sasl.errors import AuthenticationError
from trio_kafka.security.sasl.exchange import ServerExchange, ServerMechanism
from trio_kafka.wire.frame import Frame

_BETWEEN_S: Final = 1.0  # between the begins of two re-authentications
_SIZE: Final = struct.Struct(">i").pack
_KEY: Final = struct.Struct(">h").unpack_from


class State(Enum):
    """State of an authenticator; the comment is Kafka's name."""

    NEW = auto()  # INITIAL_REQUEST, HANDSHAKE_OR_VERSIONS_REQUEST
    VERSIONED = auto()  # HANDSHAKE_REQUEST
    EXCHANGE = auto()  # AUTHENTICATE
    DONE = auto()  # COMPLETE
    FAILED = auto()


class SaslAuthenticator:
    """Authenticator of one connection.

    mechanisms: by name, in the order in which they are told. wall_ms: returns the wall-clock time.
    """

    def __init__(
        self, mechanisms: Mapping[str, ServerMechanism], wall_ms: Callable[[], float]
    ) -> None:
        self.state = State.NEW
        self.mechanism: str | None = None
        self.is_renewing = False
        self.session_ends: float | None = None
        self._mechanisms = mechanisms
        self._wall_ms = wall_ms
        self._exchange: ServerExchange
        self._is_framed = False  # tokens come within SaslAuthenticate
        self._knows_sessions = False  # a version of SaslAuthenticate tells their lifetime
        self._principal: Principal | None = None
        self._renewed: float | None = None

    @property
    def is_logging_in(self) -> bool:
        return self.state is not State.DONE

    def take(self, frame: Frame, now: float) -> Step:
        """See `Authenticator.take`."""
        if self.state is State.DONE:
            return self._request(frame, now)
        if self.state is State.EXCHANGE:
            step = self._token(frame, now) if self._is_framed else self._bare_token(frame, now)
        else:
            step = self._opening(frame)
        if step.failure is not None:
            self.state = State.FAILED
        return step

    # --- before the exchange

    def _opening(self, frame: Frame) -> Step:
        head = read_head(frame)
        if head.key == API_VERSIONS:
            return self._versions(frame, head)
        if head.key != SASL_HANDSHAKE or not is_known(head):
            raise ProtocolError(
                f"request with key {head.key}, version {head.version}: want SaslHandshake; is"
                " security.protocol of the client that of this listener?"
            )
        return self._handshake(head, decode(SaslHandshakeRequest, frame, head).mechanism)

    def _versions(self, frame: Frame, head: Head) -> Step:
        """Let the request be served; one that gets an error may be followed by another one."""
        if self.state is State.VERSIONED:
            raise ProtocolError("a second ApiVersions before SaslHandshake")
        if is_known(head):
            request = decode(ApiVersionsRequest, frame, head)
            if names_software(request, head.version):
                self.state = State.VERSIONED
        return PASS

    def _handshake(self, head: Head, name: str) -> Step:
        self._is_framed = head.version > 0
        names = list(self._mechanisms)
        mechanism = self._mechanisms.get(name)
        if mechanism is None:
            self.state = State.FAILED
            response = SaslHandshakeResponse(ErrorCode.UNSUPPORTED_SASL_MECHANISM, names)
            return Step(
                answer=encode(head, response), failure=f"mechanism {name[:40]!r} is not enabled"
            )
        answer = encode(head, SaslHandshakeResponse(mechanisms=names))
        if self.is_renewing and name != self.mechanism:
            self._exchange = _OtherMechanism(name, str(self.mechanism))
        else:
            self._exchange = mechanism.begin()
            self.mechanism = name
        self.state = State.EXCHANGE
        return Step(answer=answer)

    # --- the exchange

    def _token(self, frame: Frame, now: float) -> Step:
        head = read_head(frame)
        if head.key != SASL_AUTHENTICATE:
            reason = f"request with key {head.key} in the middle of the exchange"
            return Step(answer=illegal_state(head), failure=reason)
        if not is_known(head):
            raise ProtocolError(f"SaslAuthenticate version {head.version} is not served")
        self._knows_sessions |= head.version > 0
        token = bytes(decode(SaslAuthenticateRequest, frame, head).auth_bytes)
        try:
            answer = self._evaluate(token)
        except AuthenticationError as error:
            return Step(answer=rejection(head, self._rejection_text(error)), failure=error.reason)
        if self._exchange.user is None:
            return Step(answer=challenge(head, answer, 0))
        lifetime_ms = self._begin_session(now)
        return self._done(challenge(head, answer, lifetime_ms), now)

    def _bare_token(self, frame: Frame, now: float) -> Step:
        """Take a token without a header, as after handshake version 0. A failure is not told."""
        try:
            answer = self._evaluate(bytes(frame))
        except AuthenticationError as error:
            return Step(failure=error.reason)
        framed = _SIZE(len(answer)) + answer
        if self._exchange.user is None:
            return Step(answer=framed)
        self._begin_session(now)
        return self._done(framed, now)

    def _evaluate(self, token: bytes) -> bytes:
        answer = self._exchange.evaluate(token)
        user = self._exchange.user
        if user is not None:
            principal = Principal(USER, user, token_authenticated=self._exchange.by_token)
            if self._principal not in (None, principal):
                # Not with the names, as Kafka does: this one may be unknown to its client.
                raise AuthenticationError(
                    "Cannot change principals during re-authentication", is_public=True
                )
            self._principal = principal
        return answer

    def _rejection_text(self, error: AuthenticationError) -> str:
        """Return what the client is told. Source: Kafka's texts."""
        if error.answer is not None:
            return error.answer
        phase = "re-authentication" if self.is_renewing else "authentication"
        return (
            f"Authentication failed during {phase} due to invalid credentials with SASL mechanism"
            f" {self.mechanism}"
        )

    # --- the session

    def _begin_session(self, now: float) -> int:
        """Return the lifetime of the session in ms; 0: unlimited."""
        limits = list[float]()
        longest_ms = self._mechanisms[str(self.mechanism)].longest_session_ms
        if longest_ms > 0:
            limits.append(longest_ms)
        if self._exchange.expires_ms is not None:
            limits.append(self._exchange.expires_ms - self._wall_ms())
        if not limits:
            self.session_ends = None
            return 0
        lifetime_ms = max(0, int(min(limits)))
        self.session_ends = now + lifetime_ms / 1000
        return lifetime_ms

    def _done(self, answer: bytes, now: float) -> Step:
        began = self._renewed if self.is_renewing else None
        self.state = State.DONE
        self.is_renewing = False
        return Step(
            answer=answer,
            principal=self._principal,
            is_last=self.session_ends is None,
            knows_sessions=self._knows_sessions,
            renewal_s=None if began is None else now - began,
        )

    def _request(self, frame: Frame, now: float) -> Step:
        """Pass a request of an authenticated client, or begin to authenticate it again."""
        if _KEY(frame)[0] == SASL_HANDSHAKE and self._may_renew(now):
            head = read_head(frame)
            if is_known(head):
                self._renewed, self.is_renewing = now, True
                return self._handshake(head, decode(SaslHandshakeRequest, frame, head).mechanism)
        ends = self.session_ends
        return PASS if ends is None or now <= ends else Step(is_expired=True)

    def _may_renew(self, now: float) -> bool:
        return self._renewed is None or now - self._renewed >= _BETWEEN_S


class _OtherMechanism:
    """Exchange that fails, as its mechanism is not that of the session."""

    user: str | None = None
    by_token = False
    expires_ms: int | None = None

    def __init__(self, name: str, before: str) -> None:
        self._reason = (
            f"SASL mechanism '{name}' requested by client is not supported for re-authentication"
            f" of mechanism '{before}'"
        )

    def evaluate(self, token: bytes) -> bytes:
        """Raise AuthenticationError."""
        del token
        raise AuthenticationError(self._reason, is_public=True)
