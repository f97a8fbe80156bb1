"""A broker that is changed while it serves: listeners, processors, handlers, a plugin."""

import time
from collections.abc import Iterator
from typing import Any

from tests.benchmarks import protocol
from tests.benchmarks.connection import connect
from tests.benchmarks.soak.crowds import STORM
from tests.benchmarks.soak.load import Load
from trio_kafka.cli.broker_client import BrokerClientError, open_client
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from trio_kafka.protocol.messages.k10003_reload_plugin import ReloadPluginRequest
from trio_kafka.testing.ports import unused_port

PLUGIN = "audit"
OTHERS = ("EXTRA", "OTHER")  # listeners that come and go
FEW = {"num.network.threads": "3", "num.io.threads": "8"}
MANY = {"num.network.threads": "6", "num.io.threads": "16"}
_BROKER = 4  # the type of a resource
_SET = 0
_TRIES_S = 60.0


def change_listeners(load: Load, topic: str) -> None:
    """One comes, gives its port to another, which is asked and goes."""
    del topic
    for _ in load.paced(2):
        port = unused_port()
        for name in OTHERS:
            set_listeners(load, **{name: port})
            with connect(("127.0.0.1", port), 1 << 16) as connection:
                connection.call(protocol.frame(protocol.API_VERSIONS, 0))
            load.done["listeners"] += 1
        set_listeners(load)


def change_sizes(load: Load, topic: str) -> None:
    """Twice as many processors and handlers, and half as many."""
    del topic
    for number in load.paced(3):
        change(load, "", FEW if number % 2 else MANY)
        load.done["sizes"] += 1
    change(load, "", FEW)


def reload_plugin(load: Load, topic: str) -> None:
    """The package of a plugin that stands in the way of requests, imported afresh."""
    del topic
    for _ in load.paced(3):
        answer = ask(load, ReloadPluginRequest(PLUGIN))
        if answer.error_code:
            raise ValueError(f"reload: {answer.error_message}")
        load.done["reloads"] += 1


def set_listeners(load: Load, **ports: int) -> None:
    """These beside those that stay."""
    places = {"PLAINTEXT": load.broker.address[1], STORM: load.places[STORM][1], **ports}
    listeners = ",".join(f"{name}://127.0.0.1:{port}" for name, port in places.items())
    change(load, "1", {"listeners": listeners})


def change(load: Load, broker: str, settings: dict[str, str]) -> None:
    """Settings of a broker, or of all where it has no name. ValueError."""
    configs = [AlterableConfig(name, _SET, text) for name, text in settings.items()]
    resource = AlterConfigsResource(_BROKER, broker, configs)
    (answer,) = ask(load, IncrementalAlterConfigsRequest([resource])).responses
    if answer.error_code:
        raise ValueError(f"{settings}: {answer.error_message}")


def ask(load: Load, request: object) -> Any:
    """Return the answer; retry when the connection was closed. Raises BrokerClientError."""
    for _ in tries():
        try:
            with open_client(Endpoint(*load.broker.address), 30, unknown="not known") as client:
                return client(request)
        except (BrokerClientError, OSError) as error:
            failed = error
            load.done["asked again"] += 1
    raise failed


def tries() -> Iterator[None]:
    ends = time.monotonic() + _TRIES_S
    while time.monotonic() < ends:
        yield
        time.sleep(0.1)
