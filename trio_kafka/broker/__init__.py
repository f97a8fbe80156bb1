"""Assembly of a broker from its parts: start, lifecycle, stop."""

from trio_kafka.broker.broker import Broker
from trio_kafka.broker.errors import StartError
from trio_kafka.broker.run import running_broker

__all__ = ["Broker", "StartError", "running_broker"]
