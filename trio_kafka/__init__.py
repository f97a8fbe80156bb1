"""A Kafka broker as one tree of structured concurrency.

`Broker` runs one in a Trio program, `running_broker()` in a thread of its own, for any other code.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trio_kafka.broker import Broker as Broker
    from trio_kafka.testing.kafka.threaded import running_broker as running_broker

__all__ = ["Broker", "running_broker"]  # imported on first use: most imports need neither

_MODULES = {"Broker": "trio_kafka.broker", "running_broker": "trio_kafka.testing.kafka.threaded"}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with import_module("trio_kafka.rare_collections").rare_collections():
        return getattr(import_module(_MODULES[name]), name)
