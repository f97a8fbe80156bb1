"""Client of the plugin: python client.py HOST:PORT echo TEXT [TIMES] | listen [AFTER]."""

import sys
import time
from typing import Any

from echo_api import EchoRequest, EchoResponse, ListenRequest

from trio_kafka.errors import KafkaError
from trio_kafka.model import Endpoint
from trio_kafka.peers.blocking import connected

USAGE = "want HOST:PORT echo TEXT [TIMES] or HOST:PORT listen [AFTER]"


def request_of(words: list[str]) -> EchoRequest | ListenRequest | None:
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
    deadline = time.monotonic() + 10
    address = Endpoint(host, int(port))
    try:
        with connected(address, deadline=deadline, client_id="echo-client") as connection:
            answer: Any = connection.ask(request, deadline=deadline)
    except KafkaError:
        return "the broker does not serve this: install the plugin where it runs, and restart it"
    if answer.error_code:
        return f"error {answer.error_code}: {answer.error_message}"
    if isinstance(answer, EchoResponse):
        print(f"{answer.number}: {answer.text}")
    else:
        print(
            *(f"{echo.number}: {echo.text} ({echo.client_id})" for echo in answer.echoes), sep="\n"
        )
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
