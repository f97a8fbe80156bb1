"""The controller over a metadata log: what is answered is committed, published, and survives."""

import pytest

from tests.controller.kit import code_of, running_controller
from tests.raft.kit import NODE_1, format_root
from trio_kafka.controller.configs import ConfigChange, Operation
from trio_kafka.controller.features import FeatureChange
from trio_kafka.controller.topics import CreatedTopic, NewTopic
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import ConfigResourceType
from trio_kafka.testing.simulation import run_simulated, run_until_crash
from trio_kafka.world.simulated import SimulatedWorld, Universe


async def test_a_topic_name_that_collides_with_a_topic_from_before_a_restart_is_refused(
    world, autojump_clock
) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        await running.controller.create_topics([NewTopic(name="a.b", partitions=1)])

    async with running_controller(world) as running:
        result = await running.controller.create_topics([NewTopic(name="a_b", partitions=1)])

    assert code_of(result["a_b"]) is ErrorCode.INVALID_TOPIC_EXCEPTION


async def test_a_new_cluster_begins_with_the_bootstrap_records_of_kafka(
    world, autojump_clock
) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        first = [type(r).__name__ for b in await running.driver.read(1) for r in b.records]
        image = running.image

    assert first == [
        "BeginTransactionRecord",
        *["FeatureLevelRecord"] * 6,
        "ConfigRecord",
        "EndTransactionRecord",
        "RegisterControllerRecord",
    ]
    assert image.features["metadata.version"] == 33
    assert image.config(ConfigResourceType.BROKER, "") == {"min.insync.replicas": "1"}
    assert list(image.controllers) == [NODE_1]


async def test_a_cluster_at_an_old_metadata_version_writes_no_newer_records(
    world, autojump_clock
) -> None:
    await format_root(world, level=10)
    async with running_controller(world) as running:
        await running.join()
        created = await running.controller.create_topics([NewTopic(name="t")])
        image = running.image

    assert isinstance(created["t"], CreatedTopic)
    assert image.features == {"metadata.version": 10}
    assert image.controllers == {}
    assert image.topics["t"].partitions[0].directories == ()


async def test_a_topic_can_be_deleted_by_id_and_created_again(world, autojump_clock) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        controller = running.controller
        topic = (await controller.create_topics([NewTopic(name="a.b")]))["a.b"]
        assert isinstance(topic, CreatedTopic)

        await controller.delete_topics([topic.id])
        assert "a.b" not in running.image.topics
        again = await controller.create_topics([NewTopic(name="a_b")])
        gone = await controller.delete_topics([topic.id, "a.b"])

    assert isinstance(again["a_b"], CreatedTopic)
    assert code_of(gone[topic.id]) is ErrorCode.UNKNOWN_TOPIC_ID
    assert code_of(gone["a.b"]) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_stopped_controller_answers_not_controller(world, autojump_clock) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        controller = running.controller

    results = await controller.create_topics([NewTopic(name="t")])
    assert code_of(results["t"]) is ErrorCode.NOT_CONTROLLER


async def test_the_controller_changes_topic_settings_and_refuses_an_unsupported_feature_level(
    world, autojump_clock
) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        controller = running.controller
        await controller.create_topics([NewTopic(name="t", configs={"cleanup.policy": "delete"})])
        at = (int(ConfigResourceType.TOPIC), "t")
        await controller.alter_configs(
            {at: [ConfigChange("cleanup.policy", Operation.APPEND, "compact")]}
        )
        assert running.image.configs[at] == {"cleanup.policy": "delete,compact"}
        await controller.alter_configs({at: {"retention.ms": "7"}})
        assert running.image.configs[at] == {"retention.ms": "7"}
        with pytest.raises(KafkaError):
            await controller.update_features([FeatureChange("share.version", 9)])


async def test_producer_id_blocks_are_never_allocated_twice_across_restarts(
    world, autojump_clock
) -> None:
    await format_root(world)
    firsts = []
    for life in range(1, 4):
        async with running_controller(world) as running:
            epoch = await running.join(life=life)
            for _ in range(2):
                block = await running.controller.allocate_producer_ids(NODE_1, epoch)
                firsts.append(block.first)

    assert firsts == [0, 1000, 2000, 3000, 4000, 5000]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_acknowledged_topics_survive_a_power_loss_and_every_start_succeeds(seed: int) -> None:
    async def main(universe: Universe) -> None:
        there: set[str] = set()
        world = universe.machine("broker")
        await format_root(world)

        async def life(world: SimulatedWorld) -> None:
            async with running_controller(world) as running:
                await running.join(life=world.life + 1)
                assert there <= set(running.image.topics)
                for number in range(30):
                    name = f"t-{world.life}-{number}"
                    results = await running.controller.create_topics([NewTopic(name=name)])
                    assert isinstance(results[name], CreatedTopic)
                    there.add(name)
                    if number % 4 == 3:
                        gone = there.pop()
                        await running.controller.delete_topics([gone])
                        assert gone not in running.image.topics

        for _ in range(4):
            await run_until_crash(world, life, universe.chance("crash").uniform(0.01, 1.0))
            world = universe.machine("broker")
        async with running_controller(world) as running:
            assert there <= set(running.image.topics)

    run_simulated(main, seed, moody=True)
