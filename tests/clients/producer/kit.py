"""A producer of ours on the machine of the clients of a simulation."""

from contextlib import AbstractAsyncContextManager
from typing import Any

from trio_kafka.clients import Producer, ProducerRecord, open_producer
from trio_kafka.testing.simulate.simulation import Simulation

ARGUMENTS = ("key_serializer", "value_serializer", "partitioner", "tree")


def producer_of(sim: Simulation, **options: Any) -> AbstractAsyncContextManager[Producer[Any, Any]]:
    """Open a producer. options: `linger_ms=5` is `linger.ms`; or arguments of `open_producer`."""
    arguments = {name: options.pop(name) for name in ARGUMENTS if name in options}
    config = {name.replace("_", "."): value for name, value in options.items()}
    at = {"bootstrap.servers": str(sim.lives.address)}
    return open_producer({**at, **config}, world=sim.clients, **arguments)


def record(value: Any, topic: str = "t", **fields: Any) -> ProducerRecord[Any, Any]:
    return ProducerRecord(topic, value, **fields)
