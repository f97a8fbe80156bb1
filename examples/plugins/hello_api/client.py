"""Client of the plugin: python client.py HOST PORT NAME [GREETING]."""

import socket
import sys
from typing import Any

from hello_api import HelloRequest

from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.wire.client import ClientSide, common_version


def ask(connection: socket.socket, client: ClientSide, request: object, version: int) -> Any:
    """Send a request and wait for its answer."""
    connection.sendall(client.ask(request, version))
    while (answer := client.next()) is None:
        data = connection.recv(65536)
        if not data:
            raise ConnectionError("the broker closed the connection")
        client.received(data)
    return answer


def main(host: str, port: str, *words: str) -> str | None:
    """Print the answer. Return an error message, or None."""
    client = ClientSide("hello-client")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        served = ask(connection, client, ApiVersionsRequest(), 0).api_keys
        version = common_version(HelloRequest, served)
        if version is None:
            return "the broker does not serve Hello: install the plugin there, and restart it"
        answer = ask(connection, client, HelloRequest(*words), version)
    if answer.error_code:
        return f"error {answer.error_code}: {answer.error_message}"
    print(f"node {answer.node_id} says: {answer.text}")
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
