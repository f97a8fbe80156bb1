"""The replicas of a broker as a part: they follow the metadata and answer at the stop."""

import trio
from trio.testing import MockClock

from tests.broker.kit import APIS, config_of, fill, live_once, produce
from trio_kafka.broker import Broker
from trio_kafka.broker.parts.replicas import checks_every_record
from trio_kafka.config.load import broker_config
from trio_kafka.controller.configs import ConfigChange, Operation
from trio_kafka.metadata.image import ConfigResourceType
from trio_kafka.records.leaf import leaf
from trio_kafka.replication.moves.moves import LogMoves

RATE = "replica.alter.log.dirs.io.max.bytes.per.second"


async def test_existing_replicas_are_opened_at_the_start_and_new_replicas_are_created(
    world, autojump_clock: MockClock
) -> None:
    config = config_of()
    world = await live_once(world, config, clean=True)

    async with Broker(config, world, apis=APIS) as broker:
        produce(broker)
        await fill(broker, "new")

        assert broker.replicas.partition("t", 0).local_log().end_offset == 2
        assert broker.replicas.partition("new", 0).local_log().end_offset == 1


async def test_every_record_is_checked_by_default_only_if_the_compiled_leaf_is_installed(
    world, autojump_clock: MockClock
) -> None:
    compiled = leaf() is not None
    for config, is_full in (
        ({}, compiled),
        ({"trio.record.validation": "auto"}, compiled),
        ({"trio.record.validation": "header"}, False),
        ({"trio.record.validation": "full"}, True),
    ):
        validation = broker_config(config).trio_record_validation
        assert checks_every_record(validation) is is_full

    async with Broker(config_of(), world, format_if_empty=True, apis=APIS) as broker:
        await fill(broker, "t")
        assert broker.replicas.partition("t", 0).settings.walk is compiled


async def test_replica_move_rate_follows_its_setting(world, autojump_clock: MockClock) -> None:
    async with Broker(config_of(), world, format_if_empty=True, apis=APIS) as broker:
        change = ConfigChange(RATE, Operation.SET, "1000")
        await broker.controller.alter_configs({(ConfigResourceType.BROKER, "1"): [change]})
        began = trio.current_time()
        await broker[LogMoves].pace.pay(3000)

        assert trio.current_time() - began >= 1


async def test_no_request_is_parked_after_the_replicas_stopped(
    world, autojump_clock: MockClock
) -> None:
    async with Broker(config_of(), world, format_if_empty=True, apis=APIS) as broker:
        purgatories = broker.purgatories

    waiting = [purgatories.fetch, purgatories.produce, purgatories.deletions]
    assert [purgatory.waiting for purgatory in waiting] == [0, 0, 0]
