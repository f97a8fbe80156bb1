"""The active controller as a part of the node."""

from tests.broker.kit import APIS, config_of
from trio_kafka.broker import Broker
from trio_kafka.metadata.features import SUPPORTED
from trio_kafka.model import NodeId


async def test_started_controller_is_registered_with_its_supported_features(
    world, autojump_clock
) -> None:
    async with Broker(config_of(), world, format_if_empty=True, apis=APIS) as broker:
        (me,) = broker.metadata.image.controllers.values()

    assert (me.id, me.features) == (NodeId(1), SUPPORTED)
