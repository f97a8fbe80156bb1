"""`start --embedded`: a broker to try, with defaults of its own and a banner with its addresses."""

import os
import socket
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Final, NotRequired, TypedDict

from trio_kafka.broker import RunningBroker
from trio_kafka.cli.output import print_json_line
from trio_kafka.config.load import Layer
from trio_kafka.config.properties import SettingText
from trio_kafka.install_hint import install_command

_HOST: Final = "127.0.0.1"
_PORT: Final = 9092
_HTTP_PORT: Final = 9644
_DATA: Final = "data"
_OPTION: Final = "--embedded"
_UI: Final = "admin"
_HTTP: Final = "plugin.http.listeners"
_HTTP_SERVER: Final = "hypercorn"


def embedded_settings(port: int = _PORT, http_port: int = _HTTP_PORT) -> Layer:
    """Return the lowest layer of settings: ./data, and the two ports on loopback.

    A port that is taken is replaced by 0, which is any free one. Without an HTTP server installed
    the plane keeps its own default, which is off then.
    """
    settings = {
        # Not log.dirs, which would override a log.dir that is given.
        "log.dir": SettingText(os.path.abspath(_DATA), _OPTION),
        "listeners": SettingText(f"PLAINTEXT://{_HOST}:{_free_or_any(port)}", _OPTION),
    }
    if find_spec(_HTTP_SERVER) is not None:
        settings[_HTTP] = SettingText(f"http://{_HOST}:{_free_or_any(http_port)}", _OPTION)
    return settings


def banner(broker: RunningBroker) -> str:
    """Return where the broker is, and how to talk to it."""
    at = broker.bootstrap
    lines = [
        f"trio-kafka serves at {at}, with its data in {', '.join(broker.config.directories)}",
        *_replaced_ports(broker),
        f"  kcat -b {at} -L",
        f'  confluent_kafka.Producer({{"bootstrap.servers": "{at}"}})',
    ]
    ui = _path_of_ui(broker)
    addresses = _http_addresses(broker)
    for http in addresses:
        lines.append(f"  curl {http}/readyz")
        if ui is not None:
            lines.append(f"  {http}{ui}   (the admin UI: open it in a browser)")
    if not addresses:
        lines.append(f"  no HTTP plane: {_why_no_http()}")
    return "\n".join(lines)


def print_banner(broker: RunningBroker) -> None:
    """Print the banner at once: a program may be waiting for it at a pipe."""
    print(banner(broker), flush=True)


class Addresses(TypedDict):
    """Addresses of a broker, as they are printed; testing: of its test controls, if it has any."""

    bootstrap: str
    http: list[str]
    ui: list[str]
    directories: list[str]
    node_id: int
    testing: NotRequired[list[str]]


def addresses(broker: RunningBroker) -> Addresses:
    """Return the addresses of a broker for JSON."""
    http, ui = _http_addresses(broker), _path_of_ui(broker)
    return {
        "bootstrap": broker.bootstrap,
        "http": http,
        "ui": [] if ui is None else [f"{url}{ui}" for url in http],
        "directories": list(broker.config.directories),
        "node_id": broker.config.node_id,
    }


def print_addresses(broker: RunningBroker) -> None:
    """Print the addresses as JSON, at once."""
    print_json_line(addresses(broker))


def _replaced_ports(broker: RunningBroker) -> Iterator[str]:
    """Yield a line for each usual port that was taken."""
    layer = broker.config.texts
    for name, port, protocol in (("listeners", _PORT, "Kafka"), (_HTTP, _HTTP_PORT, "HTTP")):
        value = layer.get(name)
        if value is not None and value.where == _OPTION and value.text.endswith(":0"):
            yield f"  port {port} is taken: {protocol} has a free port instead"


def _why_no_http() -> str:
    if find_spec(_HTTP_SERVER) is None:
        return f"{install_command('trio-kafka[http]')} to have one"
    return f"set {_HTTP}=http://{_HOST}:{_HTTP_PORT} to have one"


def _http_addresses(broker: RunningBroker) -> list[str]:
    """Return the addresses of the HTTP plane, a plugin whose listeners stand in the tree."""
    nodes = (node for _, node in broker.node.walk() if node.kind == "listener")
    return [node.name for node in nodes if node.name.startswith("http://")]


def _path_of_ui(broker: RunningBroker) -> str | None:
    """Return where the admin UI is mounted, if it is."""
    return next(
        (mount.path for mount in broker.plugins.dependencies.mounts if mount.owner == _UI), None
    )


def _free_or_any(port: int) -> int:
    """Return the port if it is free, 0 otherwise."""
    with socket.socket() as probe:
        # The listener sets it too: connections of an earlier broker in TIME_WAIT do not matter.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError:
            return 0
    return port
