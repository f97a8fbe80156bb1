"""`start --embedded`: a broker to try, with defaults of its own and a word on how to reach it."""

import os
import socket
from typing import Final

from trio_kafka.broker import Broker
from trio_kafka.config.load import Layer
from trio_kafka.config.properties import Given

_HOST: Final = "127.0.0.1"
_PORT: Final = 9092
_DATA: Final = "data"
_OPTION: Final = "--embedded"
_UI: Final = "admin"


def embedded_settings(port: int = _PORT) -> Layer:
    """Below all that is given: ./data, and loopback at `port`, or at a free port if it is taken."""
    chosen = port if _is_free(port) else 0
    return {
        # Not log.dirs, which would go over a log.dir that is given.
        "log.dir": Given(os.path.abspath(_DATA), _OPTION),
        "listeners": Given(f"PLAINTEXT://{_HOST}:{chosen}", _OPTION),
    }


def banner(broker: Broker) -> str:
    """Where it is, and how to talk to it."""
    at = broker.bootstrap
    lines = [
        f"trio-kafka serves at {at}, with its data in {', '.join(broker.config.directories)}",
        f"  kcat -b {at} -L",
        f'  confluent_kafka.Producer({{"bootstrap.servers": "{at}"}})',
    ]
    ui = _path_of_ui(broker)
    for http in _http_addresses(broker):
        lines.append(f"  curl {http}/readyz")
        if ui is not None:
            lines.append(f"  {http}{ui}   (a browser shows what runs and what waits)")
    return "\n".join(lines)


def print_banner(broker: Broker) -> None:
    """To standard output, at once: it may be a pipe that somebody waits at."""
    print(banner(broker), flush=True)


def _http_addresses(broker: Broker) -> list[str]:
    """Of the HTTP plane, if there is one: it is a plugin, and known by its place in the tree."""
    nodes = (node for _, node in broker.node.walk() if node.kind == "listener")
    return [node.name for node in nodes if node.name.startswith("http://")]


def _path_of_ui(broker: Broker) -> str | None:
    """Where the admin UI is mounted, if it is."""
    return next((one.path for one in broker.plugins.dependencies.mounts if one.owner == _UI), None)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As the listener does: a connection of the last broker that is not quite gone is no reason.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError:
            return False
    return True
