"""Client of the plugin: python client.py HOST PORT NAME [GREETING]."""

import sys
import time

from hello_api import HelloRequest

from trio_kafka.errors import KafkaError
from trio_kafka.model import Endpoint
from trio_kafka.peers.blocking import connected


def main(host: str, port: str, *words: str) -> str | None:
    """Print the answer. Return an error message, or None."""
    deadline = time.monotonic() + 10
    address = Endpoint(host, int(port))
    try:
        with connected(address, deadline=deadline, client_id="hello-client") as connection:
            answer = connection.ask(HelloRequest(*words), deadline=deadline)
    except KafkaError:
        return "the broker does not serve Hello: install the plugin there, and restart it"
    if answer.error_code:
        return f"error {answer.error_code}: {answer.error_message}"
    print(f"node {answer.node_id} says: {answer.text}")
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
