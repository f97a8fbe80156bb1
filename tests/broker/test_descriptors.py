import pytest

from tests.broker.kit import APIS, config_of, live_once
from trio_kafka.broker import running_broker
from trio_kafka.broker.descriptors import FIXED
from trio_kafka.broker.errors import StartError
from trio_kafka.log.manager import LogManager

PARTITIONS = 3  # of `live_once`


async def test_a_start_with_too_few_descriptors_names_the_limit_and_the_number_wanted(
    autojump_clock, world
) -> None:
    config, limit = config_of(), PARTITIONS + FIXED - 1
    world = await live_once(world, config, clean=True)

    with pytest.raises(StartError, match=rf"is {limit}, 3 partitions need at least {limit + 1}"):
        async with running_broker(config, world, apis=APIS, descriptors=limit):
            pass


async def test_a_start_with_just_enough_descriptors_has_all_partitions(
    autojump_clock, world
) -> None:
    config = config_of()
    world = await live_once(world, config, clean=True)

    async with running_broker(config, world, apis=APIS, descriptors=PARTITIONS + FIXED) as broker:
        logs: LogManager = broker.logs
        assert len(logs.logs) == PARTITIONS
