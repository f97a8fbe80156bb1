"""How commands ask a running broker: over one blocking connection, with a deadline for all of it.

A broker is asked whether it knows a question before it is asked.
"""

import socket
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from trio_kafka.errors import ErrorCode, ProtocolError
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.texts import printable
from trio_kafka.wire.client import ClientSide, common_version

FAILED: Final = 1
_CHUNK: Final = 1 << 16

SendRequest = Callable[[object], Any]
"""Sends a request and waits for its response."""


class BrokerClientError(Exception):
    """There is no answer to be had; the message is one line for the user."""


def declare_broker(parser: ArgumentParser, timeout_s: float = 5.0) -> None:
    """The arguments `bootstrap` and `timeout`."""
    parser.add_argument(
        "--bootstrap",
        required=True,
        metavar="HOST:PORT",
        help="the address of the broker, any listener of it",
    )
    declare_timeout(parser, timeout_s)


def declare_timeout(parser: ArgumentParser, timeout_s: float = 5.0) -> None:
    """The argument `timeout`."""
    parser.add_argument(
        "--timeout",
        type=float,
        default=timeout_s,
        metavar="SECONDS",
        help="until it gives up (%(default)g)",
    )


def parse_address(text: str) -> Endpoint:
    """HOST:PORT, an IPv6 address in brackets. Raises BrokerClientError."""
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise BrokerClientError("an IPv6 address stands in brackets")
    if not (colon and host and port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16):
        raise BrokerClientError("want HOST:PORT")
    return Endpoint(host, int(port))


@contextmanager
def open_client(
    address: Endpoint, timeout_s: float, *, unknown: str, first: int = 0
) -> Iterator[SendRequest]:
    """A function that asks, while the block runs: in the best version that both sides know.

    timeout_s: for all of it. first: the first version that can carry what is asked. unknown: what
    to say of a broker that has no such API, or only earlier versions of it.
    Raises BrokerClientError for all that goes wrong with connection and protocol.
    """
    try:
        with _connected(address, timeout_s) as exchange:
            served = exchange(ApiVersionsRequest(), 0).api_keys

            def ask(request: object) -> Any:
                version = common_version(type(request), served)
                if version is None or version < first:
                    raise BrokerClientError(unknown)
                return exchange(request, version)

            yield ask
    except TimeoutError as error:
        raise BrokerClientError(f"no answer in {timeout_s:g} s") from error
    except OSError as error:
        raise BrokerClientError(error.strerror or str(error)) from error
    except UnicodeError as error:
        raise BrokerClientError(f"{address.host!r} is no name of a host") from error
    except ProtocolError as error:
        raise BrokerClientError(f"this is not Kafka's protocol: {error}") from error


def send_request(
    request: object, address: Endpoint, timeout_s: float, *, unknown: str, first: int = 0
) -> Any:
    """Send one request and return its response.

    Raises BrokerClientError, also for an error code in the response.
    """
    with open_client(address, timeout_s, unknown=unknown, first=first) as ask:
        answer = ask(request)
    if answer.error_code:
        raise BrokerClientError(answer.error_message or name_of(answer.error_code))
    return answer


def report_error(bootstrap: str, error: BrokerClientError) -> int:
    """Tell the user why there is no answer: the status to end with."""
    print(f"trio-kafka: {bootstrap}: {printable(str(error))}", file=sys.stderr)
    return FAILED


def name_of(code: int) -> str:
    """An error code as people know it."""
    return ErrorCode(code).name if code in set(ErrorCode) else f"error {code}"


@contextmanager
def _connected(address: Endpoint, timeout_s: float) -> Iterator[Callable[[object, int], Any]]:
    deadline = time.monotonic() + timeout_s
    client = ClientSide("trio-kafka")
    with socket.create_connection((address.host, address.port), timeout_s) as connection:

        def exchange(request: object, version: int) -> Any:
            _wait_until(connection, deadline)
            connection.sendall(client.ask(request, version))
            while (answer := client.next()) is None:
                _wait_until(connection, deadline)
                data = connection.recv(_CHUNK)
                if not data:
                    raise ConnectionError("the connection was closed without an answer")
                client.received(data)
            return answer

        yield exchange


def _wait_until(connection: socket.socket, deadline: float) -> None:
    """What blocks next blocks no longer than that. TimeoutError: it is too late already."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    connection.settimeout(left)
