"""Assembly of a broker from its parts: start, lifecycle, stop."""

from trio_kafka.broker.errors import StartError
from trio_kafka.broker.run import Broker
from trio_kafka.broker.running_broker import RunningBroker

__all__ = ["Broker", "RunningBroker", "StartError"]
