"""One blocking connection of `trio_kafka.peers`: opened, secured, authenticated; errors for Spark.

Requests may be pipelined: `send` as often as wanted, then `receive` in the same order. Answers are
read straight into a buffer of their size, so their records are views of it and copied nowhere.
After an error (OSError, ProtocolError) a connection is of no more use: close it.
"""

import socket
import ssl
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from trio_kafka.errors import KafkaError, ProtocolError
from trio_kafka.model import Endpoint
from trio_kafka.peers.blocking import BlockingConnection, left_s
from trio_kafka.peers.errors import StreamEndedError
from trio_kafka.peers.session import Handshake, Profile, Request, Session
from trio_kafka.protocol.errors import EncodeError
from trio_kafka.protocol.schema import message_of
from trio_kafka.wire.client import LARGEST
from trio_kafka_spark.client.errors import (
    PROTOCOL,
    UNSUPPORTED,
    AuthenticationError,
    SourceError,
)
from trio_kafka_spark.client.settings import ClientSettings

A = TypeVar("A")  # class of an answer

_ENDED: Final = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
_SOFTWARE: Final = ("trio-kafka-spark", "1")


class BrokerConnectionError(OSError):
    """A connection that did not open, or broke: which broker, at what. A retry may help."""


class Connection:
    """A connection to the broker at `endpoint`, opened by the constructor.

    tls: context, where the security protocol has TLS. login: shared by the connections of a client;
    None: one of its own. Raises BrokerConnectionError; AuthenticationError, OptionError and
    SourceError, which no retry changes.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        settings: ClientSettings,
        tls: ssl.SSLContext | None = None,
        login: Callable[[], Handshake] | None = None,
    ) -> None:
        self.endpoint = endpoint
        self._settings = settings
        deadline = time.monotonic() + settings.connect_timeout_ms / 1000
        if login is None:
            login = login_of(settings)
        self._session = Session(_profile(settings), None if login is None else login())
        plain = self._connect(deadline)
        try:
            secured = self._secure(plain, tls, deadline)
            self._peer = BlockingConnection(secured, self._session, deadline=deadline)
        except AuthenticationError as error:
            raise AuthenticationError(f"broker {endpoint}: {error.message}") from error
        except (KafkaError, OSError, ProtocolError) as error:
            raise self._broken("opening", error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Connection({self.endpoint})"

    @property
    def waiting(self) -> int:
        """Requests without their answer yet."""
        return len(self._session.in_flight)

    @property
    def expired(self) -> bool:
        """The broker ends the session soon: open another connection for the next request."""
        return time.monotonic() > self._session.expires

    @property
    def throttled(self) -> bool:
        """The broker wants no request now: the next `send` waits first."""
        return time.monotonic() < self._session.not_before

    def fileno(self) -> int:
        """Descriptor of the socket, for select."""
        return self._peer.fileno()

    def close(self) -> None:
        """Close the socket, whatever is in flight. Idempotent."""
        self._peer.close()

    def send(self, request: object, *, at_most: int | None = None, answered: bool = True) -> None:
        """Send a request; its answer comes from `receive`. Waits out a throttle of the broker.

        at_most: highest version that the caller has the data for.
        """
        begin = max(time.monotonic(), self._session.not_before)
        deadline = begin + self._settings.request_timeout_ms / 1000
        try:
            self._peer.send(request, deadline=deadline, at_most=at_most, is_answered=answered)
        except EncodeError as error:
            raise SourceError(
                UNSUPPORTED, f"broker {self.endpoint} is too old for this request: {error}"
            ) from error
        except (KafkaError, OSError) as error:
            raise self._broken(f"sending {message_of(type(request)).name}", error) from error

    def receive(self, timeout_ms: int | None = None) -> Any:
        """The answer to the oldest request in flight.

        timeout_ms: from now; None: `request.timeout.ms`. Raises BrokerConnectionError; SourceError
        for bytes that are no answer.
        """
        timeout_ms = self._settings.request_timeout_ms if timeout_ms is None else timeout_ms
        try:
            return self._peer.receive(deadline=time.monotonic() + timeout_ms / 1000)
        except (OSError, ProtocolError) as error:
            raise self._broken("waiting for an answer", error) from error

    def ask(
        self, request: Request[A], *, at_most: int | None = None, timeout_ms: int | None = None
    ) -> A:
        """Send a request and return its answer. Nothing else may be in flight."""
        self.send(request, at_most=at_most)
        answer: A = self.receive(timeout_ms)
        return answer

    def is_ready(self, timeout_s: float = 0.0) -> bool:
        """An answer has begun to arrive, or the connection has ended, within this time."""
        return self._peer.is_ready(timeout_s)

    def _connect(self, deadline: float) -> socket.socket:
        settings = self._settings
        address = (self.endpoint.host, self.endpoint.port)
        try:
            connected = socket.create_connection(address, left_s(deadline))
        except (OSError, ValueError, OverflowError) as error:  # a name, or a port, that is none
            raise self._broken("connecting", error) from error
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, size in (
            (socket.SO_SNDBUF, settings.send_buffer_bytes),
            (socket.SO_RCVBUF, settings.receive_buffer_bytes),
        ):
            if size >= 0:
                connected.setsockopt(socket.SOL_SOCKET, option, size)
        return connected

    def _secure(
        self, plain: socket.socket, tls: ssl.SSLContext | None, deadline: float
    ) -> socket.socket:
        if tls is None:
            return plain
        try:
            plain.settimeout(left_s(deadline))
            return tls.wrap_socket(plain, server_hostname=self.endpoint.host)
        except ssl.SSLCertVerificationError as error:
            plain.close()
            raise AuthenticationError(
                f"its certificate is not accepted: {error.verify_message or error.reason}; check"
                " kafka.ssl.truststore.*, or the names in the certificate"
            ) from error
        except BaseException:
            plain.close()
            raise

    def _broken(self, doing: str, error: Exception) -> Exception:
        """The error to raise instead: one that a retry may mend, or one of TLS, which it cannot."""
        if isinstance(error, BrokerConnectionError):
            return error
        if isinstance(error, ssl.SSLError) and not isinstance(error, _ENDED):
            return AuthenticationError(
                f"broker {self.endpoint}: TLS failed: {error.reason}; check the port,"
                " kafka.security.protocol, and kafka.ssl.keystore.* where the broker asks for a"
                " certificate"
            )
        if isinstance(error, KafkaError):
            return SourceError(UNSUPPORTED, f"broker {self.endpoint}: {error.message}")
        said = str(error) or type(error).__name__
        if isinstance(error, StreamEndedError):
            said = f"the broker ended it, {error.missing} bytes are missing"
        if isinstance(error, ProtocolError):
            return SourceError(
                PROTOCOL,
                f"broker {self.endpoint}: {doing}: {said}; check the port and"
                " kafka.security.protocol: what answers there does not speak Kafka's protocol",
            )
        if isinstance(error, ssl.SSLError):
            said = "it ended the TLS handshake, or is no TLS listener: kafka.security.protocol"
        return BrokerConnectionError(f"broker {self.endpoint}: {doing}: {said}")


def _profile(settings: ClientSettings) -> Profile:
    return Profile(
        client_id=settings.client_id,
        software=_SOFTWARE,
        # Some fetches, or a batch that is larger than one.
        largest=max(LARGEST, settings.fetch_bytes + LARGEST),
        longest_throttle_s=settings.request_timeout_ms / 1000,
    )


def login_of(settings: ClientSettings) -> Callable[[], Handshake] | None:
    """Login of the connections of a client; None without SASL. Raises OptionError."""
    if not settings.security.uses_sasl:
        return None
    from trio_kafka_spark.client import sasl  # noqa: PLC0415 - imports HTTP clients

    return sasl.login_of(settings.security.sasl)
