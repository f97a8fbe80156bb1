"""Requests of commands to a running broker, over one blocking connection with one deadline."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Protocol, TypeVar

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.cli.broker_options import VARIABLE
from trio_kafka.cli.cluster_address import Bootstrap
from trio_kafka.errors import ErrorCode, KafkaError, ProtocolError
from trio_kafka.model import Endpoint
from trio_kafka.peers.blocking import BlockingConnection, connected
from trio_kafka.peers.blocking_links import handshakes
from trio_kafka.peers.errors import StreamEndedError
from trio_kafka.peers.session import Request
from trio_kafka.protocol.foreign import spoken_protocol

if TYPE_CHECKING:
    from trio_kafka.peers.blocking_tls import Secure
    from trio_kafka.peers.session import Handshake

A = TypeVar("A")


class SendRequest(Protocol):
    """Sends a request and waits for its response."""

    def __call__(self, request: Request[A]) -> A: ...


class _HasErrorCode(Protocol):
    @property
    def error_code(self) -> int: ...


E = TypeVar("E", bound=_HasErrorCode)


class BrokerClientError(CommandFailedError):
    """A request that got no usable response; the message names the broker's address."""

    def __init__(self, bootstrap: object, reason: str) -> None:
        super().__init__(f"{bootstrap}: {reason}", FAILED)


@define(eq=False)
class ConnectionSecurity:
    """TLS and login of the connections of one command. settings: of its client."""

    settings: Mapping[str, str]
    _handshakes: "Callable[[], Handshake | None] | None" = field(default=None, init=False)

    def secure(self) -> "Secure | None":
        """Return what wraps a socket in TLS; None without TLS.

        Raises CommandFailedError for stores that cannot be used.
        """
        if not self.settings.get("security.protocol", "").upper().endswith("SSL"):
            return None
        from trio_kafka.cli.client_settings import admin_settings_of  # noqa: PLC0415 - rare
        from trio_kafka.clients.settings.security import tls_settings  # noqa: PLC0415 - rare
        from trio_kafka.config.setting import ConfigError  # noqa: PLC0415 - rare
        from trio_kafka.peers.blocking_tls import blocking_tls  # noqa: PLC0415 - rare

        tls = tls_settings(admin_settings_of(self.settings))
        try:
            return None if tls is None else blocking_tls(tls)
        except ConfigError as error:
            raise CommandFailedError(str(error), FAILED) from error

    def handshake(self) -> "Handshake | None":
        """Return the handshake of a new connection; None without SASL. All share one token.

        Raises CommandFailedError for settings that no connection can be opened with.
        """
        if not self.settings.get("security.protocol", "").upper().startswith("SASL_"):
            return None
        from trio_kafka.cli.client_settings import admin_settings_of  # noqa: PLC0415 - rare
        from trio_kafka.clients.settings.security import credentials  # noqa: PLC0415 - rare

        if self._handshakes is None:
            self._handshakes = handshakes(credentials(admin_settings_of(self.settings)))
        return self._handshakes()


@frozen
class BrokerAddress(Endpoint):
    """Address of a broker, and how a client's connection to it is secured."""

    security: ConnectionSecurity = field(
        factory=lambda: ConnectionSecurity({}), eq=False, repr=False
    )


def parse_address(text: str) -> BrokerAddress:
    """Return the first address of HOST:PORT,…, for a command about one broker.

    An IPv6 address is in brackets. Raises BrokerClientError, also for another address.
    """
    return parse_addresses(text)[0]


def parse_addresses(text: str) -> tuple[BrokerAddress, ...]:
    """Return the addresses HOST:PORT,…, each once, with the settings of a `Bootstrap`.

    Raises BrokerClientError.
    """
    settings: Mapping[str, str] = {}
    if isinstance(text, Bootstrap):
        settings = {**text.settings, **text.properties}
    security = ConnectionSecurity(settings)
    addresses = [address.strip() for address in text.split(",")]
    return tuple(dict.fromkeys(_address(address, security) for address in addresses))


def _address(text: str, security: ConnectionSecurity) -> BrokerAddress:
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise BrokerClientError(text, "an IPv6 address must be in brackets, as in [::1]:9092")
    if not (colon and host and port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16):
        raise BrokerClientError(text, "not an address: give HOST:PORT, with a port from 1 to 65535")
    return BrokerAddress(host, int(port), security)


@contextmanager
def open_client(
    address: Endpoint | Sequence[Endpoint], timeout_s: float, *, unknown: str, first: int = 0
) -> Iterator[SendRequest]:
    """Connect to a broker, and yield a function that sends requests.

    Each request is sent in the highest version that both sides know.
    address: several: the first that answers; each but the last has a share of the time.
    timeout_s: for the whole block. first: the first version that can carry the request.
    unknown: the error message for a broker without this API, or with earlier versions only.
    Raises BrokerClientError for every failure of connection and protocol.
    """
    deadline = time.monotonic() + timeout_s
    if not isinstance(address, Endpoint):
        address = _first_reached(address, deadline)
    try:
        with _connected(address, deadline) as connection:

            def send(request: Request[A]) -> A:
                try:
                    version = connection.session.version_of(type(request))
                except KafkaError:
                    version = -1
                if version < first:
                    raise BrokerClientError(address, unknown)
                return connection.ask(request, deadline=deadline)

            yield send
    except TimeoutError as error:
        reason = f"no answer within {timeout_s:g} s: give the broker longer with --timeout"
        raise BrokerClientError(address, reason) from error
    except ConnectionRefusedError as error:
        reason = f"connection refused: start a broker there, or set --bootstrap or {VARIABLE}"
        raise BrokerClientError(address, reason) from error
    except StreamEndedError as error:
        reason = "the server closed the connection without an answer"
        raise BrokerClientError(address, reason) from error
    except OSError as error:
        raise BrokerClientError(address, error.strerror or str(error)) from error
    except UnicodeError as error:
        raise BrokerClientError(address, f"{address.host!r} is not a host name") from error
    except KafkaError as error:  # of the handshake
        raise BrokerClientError(address, str(error.message)) from error
    except ProtocolError as error:
        reason = f"the server does not speak Kafka's protocol: {describe_failure(str(error))}"
        raise BrokerClientError(address, reason) from error


def _first_reached(addresses: Sequence[Endpoint], deadline: float) -> Endpoint:
    """Return the first address where Kafka's protocol is spoken; if none is, the last."""
    for number, address in enumerate(addresses[:-1]):
        share_s = (deadline - time.monotonic()) / (len(addresses) - number)
        with (
            suppress(OSError, ProtocolError, UnicodeError, KafkaError),
            _connected(address, time.monotonic() + share_s),
        ):
            return address
    return addresses[-1]


def _connected(address: Endpoint, deadline: float) -> AbstractContextManager[BlockingConnection]:
    if not isinstance(address, BrokerAddress):
        return connected(address, deadline=deadline, client_id="trio-kafka")
    return connected(
        address,
        deadline=deadline,
        client_id="trio-kafka",
        secure=address.security.secure(),
        handshake=address.security.handshake,
    )


def describe_failure(reason: str) -> str:
    """Return why a connection has failed; a peer of another protocol is named.

    Its first four bytes are taken for the length of an answer, and show what it speaks.
    """
    length = re.search(r"answer of (-?\d+) bytes", reason)
    first = b"" if length is None else (int(length[1]) & 0xFFFFFFFF).to_bytes(4, "big")
    protocol = spoken_protocol(first)
    if protocol is None:
        return reason
    hint = ": set security.protocol=SSL" if protocol == "TLS" else ""
    return f"this is a port of {protocol}{hint}"


def send_request(
    request: Request[E], address: Endpoint, timeout_s: float, *, unknown: str, first: int = 0
) -> E:
    """Send one request, with arguments as for `open_client`, and return its response.

    Raises BrokerClientError, also for an error code in the response.
    """
    with open_client(address, timeout_s, unknown=unknown, first=first) as send:
        response = send(request)
    if response.error_code:
        raise failed_answer(address, response)
    return response


def failed_answer(bootstrap: object, answer: _HasErrorCode) -> BrokerClientError:
    """Return the error of an answer, or of a part of it, that has an error code."""
    reason = getattr(answer, "error_message", None) or error_name(answer.error_code)
    return BrokerClientError(bootstrap, reason)


def error_name(code: int) -> str:
    """Return Kafka's name of an error code."""
    return ErrorCode(code).name if code in set(ErrorCode) else f"error {code}"
