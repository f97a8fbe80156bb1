import pytest

from tests.broker.kit import APIS, config_of, live_once
from trio_kafka.broker import Broker
from trio_kafka.broker.errors import StartError
from trio_kafka.broker.run import check_descriptors
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.world.descriptors import SMALLEST, Descriptors

PARTITIONS = 3  # of `live_once`


async def test_start_with_too_few_descriptors_is_refused_with_limit_and_required_number(
    autojump_clock, world
) -> None:
    config = config_of()
    world = await live_once(world, config, clean=True)
    world.descriptors.limit = SMALLEST - 1

    with pytest.raises(StartError, match=r"is 63, a broker needs at least 64"):
        async with Broker(config, world, apis=APIS):
            pass


async def test_start_with_the_minimum_of_descriptors_opens_all_partitions(
    autojump_clock, world
) -> None:
    config = config_of()
    world = await live_once(world, config, clean=True)
    world.descriptors.limit = SMALLEST

    async with Broker(config, world, apis=APIS) as broker:
        logs: LogManager = broker.logs
        assert len(logs.logs) == PARTITIONS


def test_unknown_descriptor_limit_is_not_checked() -> None:
    check_descriptors(Descriptors())
