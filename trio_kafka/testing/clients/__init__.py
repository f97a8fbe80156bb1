"""Small producer and consumer for tests, on any World: real sockets or the simulated network.

They survive restarts of their broker and write a `History` for the checkers. Each talks to one
broker, its bootstrap address.
"""

from trio_kafka.testing.clients.consumer import Consumer
from trio_kafka.testing.clients.errors import DeliveryError, GaveUpError
from trio_kafka.testing.clients.producer import Producer
from trio_kafka.testing.clients.reading import Fetched, read_log
from trio_kafka.testing.clients.transactional import TransactionalProducer

__all__ = [
    "Consumer",
    "DeliveryError",
    "Fetched",
    "GaveUpError",
    "Producer",
    "TransactionalProducer",
    "read_log",
]
