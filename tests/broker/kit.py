"""Brokers on simulated machines, and what tests ask of them."""

from collections.abc import Mapping
from math import inf

import trio

from trio_kafka.broker import Broker, RunningBroker
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.load import broker_config
from trio_kafka.controller.topics import NewTopic
from trio_kafka.introspect.tree import Node
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.log.manager.maintenance import write_checkpoints
from trio_kafka.records.batch import Record, encode_batch
from trio_kafka.replication.leader.append import append
from trio_kafka.requests.registry import Registry, installed_apis
from trio_kafka.testing.simulation import run_until_crash
from trio_kafka.world.simulated import SimulatedWorld

APIS: Registry = installed_apis()


def config_of(settings: Mapping[str, str] | None = None, **named: str) -> BrokerConfig:
    """Settings over a free port of the loopback and one directory; `log_dirs` is log.dirs."""
    texts = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": "/data", **(settings or {})}
    texts |= {name.replace("_", "."): text for name, text in named.items()}
    return broker_config(texts)


def logs_of(world: SimulatedWorld, config: BrokerConfig) -> LogManager:
    return LogManager(world, config.directories, Node("broker", "broker"))


async def fill(broker: RunningBroker, topic: str = "t", partitions: int = 3) -> None:
    """A topic with one record in each partition."""
    results = await broker.controller.create_topics([NewTopic(name=topic, partitions=partitions)])
    assert not isinstance(results[topic], Exception), results
    for number in range(partitions):
        produce(broker, topic, number)


def produce(broker: RunningBroker, topic: str = "t", number: int = 0) -> None:
    """One record more."""
    batch = memoryview(bytearray(encode_batch([Record(value=b"value")])))
    append(broker.replicas.partition(topic, number), batch, acks=1)


async def live_once(world: SimulatedWorld, config: BrokerConfig, *, clean: bool) -> SimulatedWorld:
    """A first life, with a topic; the machine for the next one, after a stop or kill -9."""

    async def life(world: SimulatedWorld) -> None:
        async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
            await fill(broker)
            await write_checkpoints(broker.logs)
            if not clean:
                await trio.sleep_forever()

    await run_until_crash(world, life, inf if clean else 60.0, power=False)
    return world.universe.machine(world.name)


def names_below(broker: RunningBroker) -> list[str]:
    """All nodes of its tree."""
    return [node.name for _, node in broker.node.walk()]


def content_of(world: SimulatedWorld, path: str, name: str) -> bytes:
    """A file that is there."""
    file = world.directory(path).open(name)
    content = bytearray(file.size)
    file.try_read(0, content)
    file.close()
    return bytes(content)
