"""`start --testing`: a broker for test suites in any language, with test controls over HTTP.

It has free ports on loopback, its files in memory, a clock that can be moved, and settings that
make tests quick. Other settings override these; with a data directory it has its files there.
"""

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Final

from trio_kafka.broker import RunningBroker
from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.embedded import Addresses, addresses
from trio_kafka.cli.output import print_json_line
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.load import Layer
from trio_kafka.config.properties import SettingText
from trio_kafka.install_hint import install_command
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.in_memory import InMemoryWorld
from trio_kafka.world.real import RealWorld

_OPTION: Final = "--testing"
_CONTROLS: Final = "faults"  # the plugin
_HTTP_SERVER: Final = "hypercorn"
_SETTINGS: Final[Mapping[str, str]] = {
    "log.dir": "/data",  # not log.dirs, which would override a log.dir that is given
    "listeners": "PLAINTEXT://127.0.0.1:0",
    "plugin.http.listeners": "http://127.0.0.1:0",
    "plugin.http.anonymous.changes": "true",
    "plugin.faults.enabled": "true",
    "plugin.faults.token.required": "false",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}
_POLL_S: Final = 0.2  # where the system cannot tell that a process has ended


def quick_settings() -> Layer:
    """Return the lowest layer of settings. Raises CommandFailedError if no server is installed."""
    if find_spec(_HTTP_SERVER) is None:
        needed = install_command("trio-kafka[http]")
        raise CommandFailedError(f"the test controls need an HTTP server: {needed}")
    return {name: SettingText(text, _OPTION) for name, text in _SETTINGS.items()}


def machine_for(config: BrokerConfig) -> Callable[[int], RealWorld]:
    """Return what makes the world of a broker: its files are in memory, unless settings say where.

    Its clock can be moved.
    """
    directory = config.texts.get("log.dir")
    if "log.dirs" in config.texts or directory is None or directory.where != _OPTION:
        return lambda limit: RealWorld(SkippingClock(), descriptors=limit)
    return lambda limit: InMemoryWorld(SkippingClock(), descriptors=limit)


def print_testing_addresses(broker: RunningBroker) -> None:
    """Print the addresses as one line of JSON, with those of the test controls, at once."""
    print_json_line(testing_addresses(broker))


def testing_addresses(broker: RunningBroker) -> Addresses:
    """Return the addresses of a broker for tests, for JSON."""
    data = addresses(broker)
    mounts = broker.plugins.dependencies.mounts
    path = next((mount.path for mount in mounts if mount.owner == _CONTROLS), None)
    if isinstance(broker.world, InMemoryWorld):
        data["directories"] = []
    data["testing"] = [] if path is None else [f"{url}{path}" for url in data["http"]]
    return data


def end_with_parent() -> None:
    """End this process as by SIGTERM when its parent has ended.

    A daemon thread waits for that, as the parent may be of any kind and need not co-operate.
    """
    parent = os.getppid()
    thread = threading.Thread(target=_wait_for, args=[parent], name="with-parent", daemon=True)
    thread.start()


def _wait_for(parent: int) -> None:
    try:
        descriptor = os.pidfd_open(parent)
    except (AttributeError, OSError):
        while os.getppid() == parent:
            time.sleep(_POLL_S)
    else:
        if os.getppid() == parent:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            poll.poll()
        os.close(descriptor)
    os.kill(os.getpid(), signal.SIGTERM)
