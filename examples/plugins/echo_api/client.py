"""Client of the plugin: python client.py HOST:PORT echo TEXT [TIMES] | listen [AFTER]."""

import socket
import sys
from typing import Any

from echo_api import EchoRequest, ListenRequest

from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.wire.client import ClientSide, common_version

USAGE = "want HOST:PORT echo TEXT [TIMES] or HOST:PORT listen [AFTER]"


def ask(connection: socket.socket, client: ClientSide, request: object, version: int) -> Any:
    """Send a request and wait for its answer."""
    connection.sendall(client.ask(request, version))
    while (answer := client.next()) is None:
        data = connection.recv(65536)
        if not data:
            raise ConnectionError("the broker closed the connection")
        client.received(data)
    return answer


def request_of(words: list[str]) -> object | None:
    """Return the request that the words stand for, or None."""
    match words:
        case ["echo", text]:
            return EchoRequest(text)
        case ["echo", text, times] if times.isdecimal():
            return EchoRequest(text, int(times))
        case ["listen"]:
            return ListenRequest(wait_ms=5000)
        case ["listen", after] if after.isdecimal():
            return ListenRequest(int(after), wait_ms=5000)
    return None


def main(*words: str) -> str | None:
    """Print the answer. Return an error message, or None."""
    request = request_of(list(words[1:]))
    if request is None:
        return USAGE
    host, _, port = words[0].rpartition(":")
    client = ClientSide("echo-client")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        served = ask(connection, client, ApiVersionsRequest(), 0).api_keys
        version = common_version(type(request), served)
        if version is None:
            return (
                "the broker does not serve this: install the plugin where it runs, and restart it"
            )
        answer = ask(connection, client, request, version)
    if answer.error_code:
        return f"error {answer.error_code}: {answer.error_message}"
    if isinstance(request, EchoRequest):
        print(f"{answer.number}: {answer.text}")
    else:
        print(*(f"{one.number}: {one.text} ({one.client_id})" for one in answer.echoes), sep="\n")
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
