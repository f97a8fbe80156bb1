"""The hops of a request in words: their names are those of Kafka's metrics."""

from collections.abc import Mapping
from typing import Final

HOP_WORDS: Final[Mapping[str, str]] = {
    "queue": "it waits in the request channel",
    "local": "a handler works for it",
    "remote": "it is parked, as it waits for something",
    "response_queue": "its answer waits for the processor",
    "send": "its answer is sent to the client",
}
