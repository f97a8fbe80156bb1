"""The controller over a metadata log: what is answered is committed, published, and survives."""

import pytest
import trio

from tests.controller.kit import new_broker, running_controller
from tests.raft.kit import ONE, format_root
from trio_kafka.controller.brokers import Heartbeat
from trio_kafka.controller.configs import ConfigChange, Operation
from trio_kafka.controller.features import FeatureChange
from trio_kafka.controller.topics import CreatedTopic, NewTopic
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import ResourceType
from trio_kafka.model import NodeId
from trio_kafka.testing.simulation import run_simulated, run_until_crash
from trio_kafka.world.simulated import SimulatedWorld, Universe


def code_of(result: object) -> ErrorCode:
    assert isinstance(result, KafkaError)
    return result.code


async def test_names_of_the_life_before_collide_as_any_others(world, autojump_clock) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        await running.controller.create_topics([NewTopic(name="a.b", partitions=1)])

    async with running_controller(world) as running:
        found = await running.controller.create_topics([NewTopic(name="a_b", partitions=1)])

    assert code_of(found["a_b"]) is ErrorCode.INVALID_TOPIC_EXCEPTION


async def test_a_new_cluster_begins_as_kafkas_do(world, autojump_clock) -> None:
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
    assert image.config(ResourceType.BROKER, "") == {"min.insync.replicas": "1"}
    assert list(image.controllers) == [ONE]


async def test_an_old_metadata_version_gets_no_records_that_it_does_not_know(
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


async def test_a_created_topic_is_published_before_it_is_answered(world, autojump_clock) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        made = await running.controller.create_topics(
            [NewTopic(name="t", partitions=3, configs={"retention.ms": "5"})]
        )
        image = running.image

    created = made["t"]
    assert isinstance(created, CreatedTopic)
    assert (created.partitions, created.replication_factor) == (3, 1)
    assert image.topic(created.id) is image.topics["t"]
    assert [state.leader for state in image.topics["t"].partitions.values()] == [1, 1, 1]
    assert image.config(ResourceType.TOPIC, "t") == {"retention.ms": "5"}


async def test_an_answer_waits_for_a_loader_that_has_much_to_replay(world, autojump_clock) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        await running.controller.create_topics([NewTopic(name="t", partitions=2000)])

        assert len(running.image.topics["t"].partitions) == 2000


async def test_each_topic_of_a_request_succeeds_or_fails_for_itself(world, autojump_clock) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        await running.controller.create_topics([NewTopic(name="there")])
        made = await running.controller.create_topics(
            [
                NewTopic(name="there"),
                NewTopic(name="a.b"),
                NewTopic(name="a_b"),
                NewTopic(name="no!"),
                NewTopic(name="twice"),
                NewTopic(name="twice", partitions=2),
                NewTopic(name="sad", configs={"retention.ms": "bad"}),
            ]
        )
        topics = set(running.image.topics)

    assert topics == {"there", "a.b"}
    assert code_of(made["there"]) is ErrorCode.TOPIC_ALREADY_EXISTS
    assert code_of(made["a_b"]) is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert code_of(made["no!"]) is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert code_of(made["twice"]) is ErrorCode.INVALID_REQUEST
    assert code_of(made["sad"]) is ErrorCode.INVALID_CONFIG


async def test_validate_only_changes_nothing(world, autojump_clock) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        before = running.driver.next_offset
        made = await running.controller.create_topics([NewTopic(name="t")], validate_only=True)

        assert isinstance(made["t"], CreatedTopic)
        assert running.driver.next_offset == before


async def test_a_topic_can_be_deleted_by_id_and_created_again(world, autojump_clock) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        controller = running.controller
        made = (await controller.create_topics([NewTopic(name="a.b")]))["a.b"]
        assert isinstance(made, CreatedTopic)

        await controller.delete_topics([made.id])
        assert "a.b" not in running.image.topics
        again = await controller.create_topics([NewTopic(name="a_b")])
        gone = await controller.delete_topics([made.id, "a.b"])

    assert isinstance(again["a_b"], CreatedTopic)
    assert code_of(gone[made.id]) is ErrorCode.UNKNOWN_TOPIC_ID
    assert code_of(gone["a.b"]) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_deadline_that_passes_is_answered_by_request_timed_out(
    world, autojump_clock
) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        made = await running.controller.create_topics(
            [NewTopic(name="t")], deadline=trio.current_time()
        )

    assert code_of(made["t"]) is ErrorCode.REQUEST_TIMED_OUT


async def test_a_controller_that_does_not_run_is_not_the_controller(world, autojump_clock) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        controller = running.controller

    made = await controller.create_topics([NewTopic(name="t")])
    assert code_of(made["t"]) is ErrorCode.NOT_CONTROLLER


async def test_settings_and_features_change(world, autojump_clock) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        controller = running.controller
        await controller.create_topics([NewTopic(name="t", configs={"cleanup.policy": "delete"})])
        at = (int(ResourceType.TOPIC), "t")
        await controller.alter_configs(
            {at: [ConfigChange("cleanup.policy", Operation.APPEND, "compact")]}
        )
        assert running.image.configs[at] == {"cleanup.policy": "delete,compact"}
        await controller.set_configs({at: {"retention.ms": "7"}})
        assert running.image.configs[at] == {"retention.ms": "7"}
        with pytest.raises(KafkaError):
            await controller.update_features([FeatureChange("share.version", 9)])


async def test_producer_ids_are_never_given_twice(world, autojump_clock) -> None:
    await format_root(world)
    firsts = []
    for life in range(1, 4):
        async with running_controller(world) as running:
            epoch = await running.join(life=life)
            for _ in range(2):
                block = await running.controller.allocate_producer_ids(ONE, epoch)
                firsts.append(block.first)

    assert firsts == [0, 1000, 2000, 3000, 4000, 5000]


async def test_a_broker_that_is_silent_too_long_is_fenced_and_leads_no_more(
    world, autojump_clock
) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        epoch = await running.join(2)
        await running.controller.create_topics([NewTopic(name="t")])
        assert running.image.topics["t"].partitions[0].leader == 2

        await trio.sleep(8.9)
        assert not running.image.brokers[NodeId(2)].fenced
        await trio.sleep(0.5)

        assert running.image.brokers[NodeId(2)].fenced
        assert running.image.topics["t"].partitions[0].leader == -1
        beat = Heartbeat(broker_id=NodeId(2), epoch=epoch, metadata_offset=epoch)
        assert not (await running.controller.heartbeat(beat)).fenced
        assert running.image.topics["t"].partitions[0].leader == 2


async def test_a_broker_that_was_heard_while_others_were_decided_on_is_not_fenced(
    world, autojump_clock
) -> None:
    await format_root(world)
    async with running_controller(world) as running, trio.open_nursery() as nursery:
        epoch = await running.join(2)
        beat = Heartbeat(broker_id=NodeId(2), epoch=epoch, metadata_offset=epoch)
        async with running.controller._writer._lock:  # a decision that takes long
            nursery.start_soon(running.controller.heartbeat, beat)
            await trio.sleep(9.5)

        await trio.sleep(1)
        assert not running.image.brokers[NodeId(2)].fenced
        await trio.sleep(8.5)
        assert running.image.brokers[NodeId(2)].fenced


async def test_the_broker_of_the_controllers_own_process_is_never_silent(
    world, autojump_clock
) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        await trio.sleep(1000)

        assert not running.image.brokers[ONE].fenced


async def test_a_second_life_of_a_living_broker_must_wait(world, autojump_clock) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join(2, life=1)

        with pytest.raises(KafkaError) as caught:
            await running.controller.register_broker(new_broker(2, life=2))
        await trio.sleep(9.5)
        epoch = await running.controller.register_broker(new_broker(2, life=2))

    assert caught.value.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION
    assert epoch > 0


async def test_many_topics_at_once_share_few_syncs(world, autojump_clock) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        before = running.driver.syncs
        wanted = [NewTopic(name=f"t{n}", partitions=2) for n in range(200)]
        made = await running.controller.create_topics(wanted)

        assert all(isinstance(one, CreatedTopic) for one in made.values())
        assert running.driver.syncs - before <= 5


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
                    made = await running.controller.create_topics([NewTopic(name=name)])
                    assert isinstance(made[name], CreatedTopic)
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
