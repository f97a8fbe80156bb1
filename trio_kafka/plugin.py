"""All that a handler or a plugin may import from the broker, besides message modules."""

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import Endpoint, NodeId, TopicPartition
from trio_kafka.purgatory import Delayed, Purgatory
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.replies import Encoded

__all__ = [
    "Context",
    "Delayed",
    "Encoded",
    "Endpoint",
    "ErrorCode",
    "KafkaError",
    "NodeId",
    "Purgatory",
    "TopicPartition",
    "api",
]
