"""Clients for tests, on any World: real sockets or the simulated network.

`Producer` and `Consumer` are those of `trio_kafka.clients`, and write a `History` for the checkers.
`TransactionalProducer`, `Link` and `read_log` write their frames themselves: each says why.
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
