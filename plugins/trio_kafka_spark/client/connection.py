"""One blocking connection: opened, secured, authenticated, with the versions that the broker has.

Requests may be pipelined: `send` as often as wanted, then `receive` in the same order. Answers are
read straight into a buffer of their size, so their records are views of it and copied nowhere.
After an error (OSError, ProtocolError) a connection is of no more use: close it.
"""

import contextlib
import select
import socket
import ssl
import time
from types import TracebackType
from typing import Any, Final, Self

from trio_kafka.errors import ErrorCode, ProtocolError
from trio_kafka.model import Endpoint
from trio_kafka.protocol.errors import EncodeError
from trio_kafka.protocol.messages.k18_api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from trio_kafka.protocol.schema import message_of
from trio_kafka.wire.client import LARGEST, ClientSide, common_version
from trio_kafka_spark.client.errors import (
    PROTOCOL,
    UNSUPPORTED,
    AuthenticationError,
    SourceError,
)
from trio_kafka_spark.client.settings import ClientSettings

_HEAD: Final = 4
_LATEST: Final = 4  # of ApiVersions: later ones name a cluster and a node, which we do not know
_ENDED: Final = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
_SOFTWARE: Final = ("trio-kafka-spark", "1")


class BrokerConnectionError(OSError):
    """A connection that did not open, or broke: which broker, at what. A retry may help."""


class Connection:
    """A connection to the broker at `endpoint`, opened by the constructor.

    tls: context, where the security protocol has TLS. Raises BrokerConnectionError;
    AuthenticationError, OptionError and SourceError, which no retry changes.
    """

    def __init__(
        self, endpoint: Endpoint, settings: ClientSettings, tls: ssl.SSLContext | None = None
    ) -> None:
        self.endpoint = endpoint
        self._settings = settings
        self._client = ClientSide(settings.client_id, largest=_largest(settings))
        self._versions: dict[type[Any], int] = {}
        self._served: list[ApiVersion] = []
        self._not_before = 0.0
        self._expires = float("inf")
        self._deadline = time.monotonic() + settings.connect_timeout_ms / 1000
        self._socket = self._connect()
        try:
            self._socket = self._secure(self._socket, tls)
            self._served = self._agree()
            if settings.security.uses_sasl:
                from trio_kafka_spark.client.sasl import (  # noqa: PLC0415 - imports HTTP clients
                    authenticate,
                )

                lifetime_s = authenticate(self._ask_at_once, settings.security.sasl)
                self._expires = time.monotonic() + lifetime_s
        except AuthenticationError as error:
            self.close()
            raise AuthenticationError(f"broker {endpoint}: {error.message}") from error
        except (OSError, ProtocolError) as error:
            self.close()
            raise self._broken("opening", error) from error
        except BaseException:
            self.close()
            raise

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
        return self._client.waiting

    @property
    def expired(self) -> bool:
        """The broker ends the session soon: open another connection for the next request."""
        return time.monotonic() > self._expires

    @property
    def throttled(self) -> bool:
        """The broker wants no request now: the next `send` waits first."""
        return time.monotonic() < self._not_before

    def fileno(self) -> int:
        """Descriptor of the socket, for select."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the socket, whatever is in flight. Idempotent."""
        with contextlib.suppress(OSError):
            self._socket.close()

    def version_of(self, request: type[Any], at_most: int | None = None) -> int:
        """The version in which this request is sent. Raises SourceError if there is no common one.

        at_most: highest version that the caller has the data for.
        """
        version = self._versions.get(request)
        if version is None:
            found = common_version(request, self._served)
            if found is None:
                name = message_of(request).name
                raise SourceError(
                    UNSUPPORTED,
                    f"broker {self.endpoint} serves no version of {name} that is known here",
                )
            version = self._versions[request] = found
        return version if at_most is None else min(version, at_most)

    def send(self, request: object, *, at_most: int | None = None, answered: bool = True) -> None:
        """Send a request; its answer comes from `receive`. Waits out a throttle of the broker."""
        version = self.version_of(type(request), at_most)
        pause = self._not_before - time.monotonic()
        if pause > 0:
            time.sleep(pause)
        self._deadline = time.monotonic() + self._settings.request_timeout_ms / 1000
        try:
            self._write(request, version, answered=answered)
        except EncodeError as error:
            raise SourceError(
                UNSUPPORTED, f"broker {self.endpoint} is too old for this request: {error}"
            ) from error
        except OSError as error:
            raise self._broken(f"sending {message_of(type(request)).name}", error) from error

    def receive(self, timeout_ms: int | None = None) -> Any:
        """The answer to the oldest request in flight.

        timeout_ms: from now; None: `request.timeout.ms`. Raises BrokerConnectionError; SourceError
        for bytes that are no answer.
        """
        timeout_ms = self._settings.request_timeout_ms if timeout_ms is None else timeout_ms
        self._deadline = time.monotonic() + timeout_ms / 1000
        try:
            answer = self._read()
        except (OSError, ProtocolError) as error:
            raise self._broken("waiting for an answer", error) from error
        throttle_ms = getattr(answer, "throttle_time_ms", 0)
        if throttle_ms > 0:
            pause_ms = min(throttle_ms, self._settings.request_timeout_ms)
            self._not_before = time.monotonic() + pause_ms / 1000
        return answer

    def ask(
        self, request: object, *, at_most: int | None = None, timeout_ms: int | None = None
    ) -> Any:
        """Send a request and return its answer. Nothing else may be in flight."""
        self.send(request, at_most=at_most)
        return self.receive(timeout_ms)

    def is_ready(self, timeout_s: float = 0.0) -> bool:
        """An answer has begun to arrive, or the connection has ended, within this time."""
        if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            return True
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(timeout_s * 1000))

    def _connect(self) -> socket.socket:
        settings = self._settings
        address = (self.endpoint.host, self.endpoint.port)
        try:
            made = socket.create_connection(address, self._left_s())
        except (OSError, ValueError, OverflowError) as error:  # a name, or a port, that is none
            raise self._broken("connecting", error) from error
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, size in (
            (socket.SO_SNDBUF, settings.send_buffer_bytes),
            (socket.SO_RCVBUF, settings.receive_buffer_bytes),
        ):
            if size >= 0:
                made.setsockopt(socket.SOL_SOCKET, option, size)
        return made

    def _secure(self, plain: socket.socket, tls: ssl.SSLContext | None) -> socket.socket:
        if tls is None:
            return plain
        plain.settimeout(self._left_s())
        try:
            return tls.wrap_socket(plain, server_hostname=self.endpoint.host)
        except ssl.SSLCertVerificationError as error:
            plain.close()
            raise AuthenticationError(
                f"its certificate is not accepted: {error.verify_message or error.reason}; check"
                " kafka.ssl.truststore.*, or the names in the certificate"
            ) from error

    def _agree(self) -> list[ApiVersion]:
        """The APIs that the broker serves; asked again in the version that it names (KIP-511)."""
        version = _LATEST
        for _ in range(2):
            self._write(ApiVersionsRequest(*_SOFTWARE), version)
            answer: ApiVersionsResponse = self._read()
            if answer.error_code != ErrorCode.UNSUPPORTED_VERSION:
                break
            version = min(common_version(ApiVersionsRequest, answer.api_keys) or 0, _LATEST)
        if answer.error_code:
            raise ProtocolError(f"ApiVersions {version}: error code {answer.error_code}")
        return answer.api_keys

    def _ask_at_once(self, request: object) -> Any:
        """Ask while the connection is being opened, within the time for that."""
        self._write(request, self.version_of(type(request)))
        return self._read()

    def _write(self, request: object, version: int, *, answered: bool = True) -> None:
        data = self._client.ask(request, version, answered=answered)
        self._socket.settimeout(self._left_s())
        self._socket.sendall(data)

    def _read(self) -> Any:
        head = bytearray(_HEAD)
        self._fill(head)
        frame = bytearray(self._client.size_of(head))
        self._fill(frame)
        return self._client.answer_in(memoryview(frame).toreadonly())

    def _fill(self, buffer: bytearray) -> None:
        view = memoryview(buffer)
        while view:
            self._socket.settimeout(self._left_s())
            count = self._socket.recv_into(view)
            if not count:
                missing = len(view)
                raise ConnectionResetError(f"the broker ended it, {missing} bytes are missing")
            view = view[count:]

    def _left_s(self) -> float:
        """Seconds until the deadline. Raises TimeoutError once it has passed."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        return left

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
        said = str(error) or type(error).__name__
        if isinstance(error, ProtocolError):
            return SourceError(
                PROTOCOL,
                f"broker {self.endpoint}: {doing}: {said}; check the port and"
                " kafka.security.protocol: what answers there does not speak Kafka's protocol",
            )
        if isinstance(error, ssl.SSLError):
            said = "it ended the TLS handshake, or is no TLS listener: kafka.security.protocol"
        return BrokerConnectionError(f"broker {self.endpoint}: {doing}: {said}")


def _largest(settings: ClientSettings) -> int:
    """The largest answer that is read: some fetches, or a batch that is larger than one."""
    return max(LARGEST, settings.fetch_bytes + LARGEST)
