"""A controller over a formatted metadata log on a simulated disk."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import trio
from attrs import frozen

from tests.raft.kit import NODE_1, running_quorum
from trio_kafka.controller.brokers import Heartbeat, NewBroker
from trio_kafka.controller.controller import Controller, DecisionRules
from trio_kafka.controller.decision import ControllerSettings
from trio_kafka.controller.topics import Randomness
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.metadata.features import SUPPORTED
from trio_kafka.metadata.image import (
    BrokerRegistration,
    ConfigResourceType,
    ControllerRegistration,
    ListenerEndpoint,
    MetadataImage,
)
from trio_kafka.metadata.publisher import Loader
from trio_kafka.model import NodeId
from trio_kafka.raft.driver import RaftDriver
from trio_kafka.world.world import World


def lists(kind: ConfigResourceType, name: str) -> str | None:
    """The one list; it begins with "delete"."""
    del kind
    return "delete" if name == "cleanup.policy" else None


def validate(
    kind: ConfigResourceType, name: str, values: Mapping[str, str], image: MetadataImage
) -> None:
    """The one bad value is "bad"."""
    del image
    for key, value in values.items():
        if value == "bad":
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"{kind.name} {name}: {key} is bad")


def broker(number: int, *, active: bool = True, rack: str | None = None) -> BrokerRegistration:
    return BrokerRegistration(
        id=NodeId(number),
        epoch=number * 10,
        incarnation_id=bytes([number] * 16),
        fenced=not active,
        rack=rack,
        log_dirs=(bytes([number] * 16),),
        features=SUPPORTED,
    )


def image_of(*brokers: BrokerRegistration, level: int = 33, elr: int = 1) -> MetadataImage:
    features = {"metadata.version": level, "eligible.leader.replicas.version": elr}
    return MetadataImage(
        cluster_id="c",
        brokers={registration.id: registration for registration in brokers},
        features={name: value for name, value in features.items() if value},
    )


def new_broker(number: int = 1, life: int = 1) -> NewBroker:
    return NewBroker(
        id=NodeId(number),
        incarnation_id=bytes([life] * 16),
        cluster_id="c",
        endpoints=(ListenerEndpoint("PLAINTEXT", "localhost", 9092),),
        features=SUPPORTED,
        log_dirs=(bytes([number] * 16),),
    )


def code_of(result: object) -> ErrorCode:
    """Why an item was refused."""
    assert isinstance(result, KafkaError)
    return result.code


@frozen
class Running:
    controller: Controller
    driver: RaftDriver
    loader: Loader

    @property
    def image(self) -> MetadataImage:
        return self.loader.image

    async def join(self, number: int = 1, life: int = 1) -> int:
        """Register a broker and let it be unfenced; its epoch."""
        epoch = await self.controller.register_broker(new_broker(number, life))
        await self.controller.heartbeat(
            Heartbeat(broker_id=NodeId(number), epoch=epoch, metadata_offset=epoch)
        )
        return epoch


@asynccontextmanager
async def running_controller(
    world: World, settings: ControllerSettings | None = None
) -> AsyncIterator[Running]:
    rules = DecisionRules(
        settings=settings or ControllerSettings(),
        validate=validate,
        lists=lists,
        randomness=Randomness(choose=world.random.randrange, random_bytes=world.random_bytes),
    )
    me = ControllerRegistration(
        id=NODE_1, incarnation_id=world.random_bytes(16), features=SUPPORTED
    )
    async with running_quorum(world) as (driver, loader), trio.open_nursery() as nursery:
        controller = Controller(driver, loader, me=me, rules=rules, node=Node("broker", "broker"))
        await nursery.start(controller.run)
        yield Running(controller, driver, loader)
        nursery.cancel_scope.cancel()
