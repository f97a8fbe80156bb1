"""The coordinator of a broker: where groups are, and answers of several shards as one."""

import pytest
from attrs import evolve
from trio.testing import MockClock

from tests.apis.configs import DELETE, GROUP, SET, alter
from tests.apis.kit import broker
from tests.apis.test_k09_offset_fetch import commit
from trio_kafka.coordinators.effects import Effects, Ticket
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.java_compat import partition_of
from trio_kafka.coordinators.protocols import ShardState
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world


def names(groups: Groups, ticket: Ticket, _now_ms: int) -> Effects:
    return Effects().answer(ticket, sorted(groups.by_id))


async def test_shard_of_a_group_is_chosen_by_the_hash_of_its_id(autojump_clock: MockClock) -> None:
    async with broker({"offsets.topic.num.partitions": "7"}) as served:
        groups = served.broker.groups
        assert groups.partition_of("group") == partition_of("group", 7)
        with pytest.raises(KafkaError, match="COORDINATOR_NOT_AVAILABLE"):
            groups.leader_of("group")
        with pytest.raises(KafkaError, match="NOT_COORDINATOR"):
            groups.shard_of("group")

        await served.serve_groups("group")

        assert groups.leader_of("group") == 1
        number = partition_of("group", 7)
        assert groups.shard_of("group") is groups.runtime.shards[number]


async def test_event_for_many_groups_returns_a_result_or_error_for_each_group(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("a", "b", "c")
        for name in ("a", "b"):
            await commit(served, name, "t", 0, 7)
        groups = served.broker.groups
        groups.shard_of("c").state = ShardState.LOADING

        one, other, error = groups.submitter.submit_many(
            "OffsetFetch", [(name, names) for name in ("a", "b", "c")]
        )
        assert (one, other) == (["a"], ["b"])
        assert error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

        found = groups.submitter.submit_everywhere("OffsetFetch", names)
        assert sum(one == [] for one in found) == 47
        assert sorted(name for one in found if isinstance(one, list) for name in one) == ["a", "b"]


async def test_changed_broker_settings_apply_to_loaded_shards(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.serve_groups("g")
        groups = served.broker.groups
        config = served.broker.config
        assert groups.shard_of("g").machine.settings.consumer_assignment_interval_ms == 1000

        groups.obey(evolve(config, group_consumer_assignment_interval_ms=5))

        assert groups.shard_of("g").machine.settings.consumer_assignment_interval_ms == 5


async def test_settings_of_a_group_are_limited_by_changed_broker_settings(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.serve_groups("g")
        await alter(served, GROUP, "g", ("consumer.session.timeout.ms", SET, "50000"))
        groups = served.broker.groups
        machine = groups.shard_of("g").machine
        assert machine.settings_of("g").consumer_session_timeout_ms == 50_000

        less = {"group_consumer_max_session_timeout_ms": 48_000, "group_consumer_max_size": 5}
        groups.obey(evolve(served.broker.config, **less))

        found = machine.settings_of("g")
        assert (found.consumer_session_timeout_ms, found.consumer_max_size) == (48_000, 5)

        await alter(served, GROUP, "g", ("consumer.session.timeout.ms", DELETE, None))
        assert machine.settings_of("g") == groups.submitter.settings
        assert groups.own_settings == {}


async def test_settings_of_a_group_survive_a_restart(autojump_clock: MockClock) -> None:
    world, name = simulated_world(), "consumer.session.timeout.ms"
    async with served_broker(world) as served:
        await alter(served, GROUP, "g", (name, SET, "50000"))
    async with served_broker(world) as served:
        await served.serve_groups("g")
        machine = served.broker.groups.shard_of("g").machine

        assert machine.settings_of("g").consumer_session_timeout_ms == 50_000
        assert machine.settings_of("h").consumer_session_timeout_ms == 45_000
