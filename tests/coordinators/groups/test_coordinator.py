"""The coordinator of a broker: its settings, and those of single groups."""

from attrs import evolve
from trio.testing import MockClock

from tests.apis.configs import DELETE, GROUP, SET, alter
from tests.apis.kit import broker
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world


async def test_changed_broker_settings_apply_to_loaded_shards(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.serve_groups("g")
        groups = served.broker.groups
        config = served.broker.config
        assert (
            groups.coordinator.shard_of("g").machine.settings.consumer_assignment_interval_ms
            == 1000
        )

        groups.obey(evolve(config, group_consumer_assignment_interval_ms=5))

        assert (
            groups.coordinator.shard_of("g").machine.settings.consumer_assignment_interval_ms == 5
        )


async def test_changed_broker_settings_apply_to_requests_and_waits(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        groups, config = served.broker.groups, served.broker.config
        assert groups.coordinator.timeout_s == 5
        assert groups.consumer.is_served

        groups.obey(
            evolve(
                config,
                offsets_commit_timeout_ms=7000,
                group_max_session_timeout_ms=9000,
                group_coordinator_rebalance_protocols=("classic",),
            )
        )

        assert groups.coordinator.timeout_s == 7
        assert groups.classic.settings.max_session_timeout_ms == 9000
        assert not groups.consumer.is_served


async def test_settings_of_a_group_are_limited_by_changed_broker_settings(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.serve_groups("g")
        await alter(served, GROUP, "g", ("consumer.session.timeout.ms", SET, "50000"))
        groups = served.broker.groups
        machine = groups.coordinator.shard_of("g").machine
        assert machine.settings_of("g").consumer_session_timeout_ms == 50_000

        less = {"group_consumer_max_session_timeout_ms": 48_000, "group_consumer_max_size": 5}
        groups.obey(evolve(served.broker.config, **less))

        settings = machine.settings_of("g")
        assert (settings.consumer_session_timeout_ms, settings.consumer_max_size) == (48_000, 5)

        await alter(served, GROUP, "g", ("consumer.session.timeout.ms", DELETE, None))
        assert machine.settings_of("g") == groups.settings
        assert groups.own_settings == {}


async def test_settings_of_a_group_survive_a_restart(autojump_clock: MockClock) -> None:
    world, name = simulated_world(), "consumer.session.timeout.ms"
    async with served_broker(world) as served:
        await alter(served, GROUP, "g", (name, SET, "50000"))
    async with served_broker(world) as served:
        await served.serve_groups("g")
        machine = served.broker.groups.coordinator.shard_of("g").machine

        assert machine.settings_of("g").consumer_session_timeout_ms == 50_000
        assert machine.settings_of("h").consumer_session_timeout_ms == 45_000
