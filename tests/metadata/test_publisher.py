"""The loader: nothing before the whole, then every change to every publisher in order."""

from collections.abc import Callable, Iterator
from typing import NoReturn

import pytest
import trio

from tests.metadata.kit import ID_1, ID_2
from tests.raft.kit import append, format_root, running_quorum
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.metadata.publisher import MetadataCache
from trio_kafka.protocol.stored.metadata.quotas import ClientQuotaRecord
from trio_kafka.protocol.stored.metadata.topics import RemoveTopicRecord, TopicRecord
from trio_kafka.protocol.structs.cluster import EntityData
from trio_kafka.testing.simulation import run_simulated, simulated_world
from trio_kafka.world.simulated import Universe


class Witness:
    def __init__(self) -> None:
        self.seen: list[tuple[MetadataDelta, MetadataImage]] = []

    def publish(self, delta: MetadataDelta, image: MetadataImage, /) -> None:
        self.seen.append((delta, image))


async def test_first_published_image_has_all_committed_records(autojump_clock) -> None:
    world = simulated_world()
    await format_root(world)
    async with running_quorum(world) as (driver, _):
        for number in range(300):
            record = TopicRecord(name=f"t{number}", topic_id=number.to_bytes(16))
            end = append(driver, [record], driver.epoch, 33)
        await driver.wait_committed(end)
    witness = Witness()

    async with running_quorum(world, publishers=(witness,)) as (_, loader):
        assert len(witness.seen) == 1
        assert len(witness.seen[0][1].topics) == 300
        assert loader.image is witness.seen[0][1]


class Slow:
    """Publishes in steps, and notes who else has run."""

    def __init__(self, steps: int, take_time: Callable[[], None]) -> None:
        self.steps = steps
        self.take_time = take_time
        self.seen: list[str] = []
        self.begun = trio.Event()

    def publish(self, delta: MetadataDelta, image: MetadataImage, /) -> Iterator[None]:
        del image
        for topic in delta.topics.values():
            for number in range(self.steps):
                self.seen.append(f"{topic.name} {number}")
                self.begun.set()
                self.take_time()
                yield


@pytest.mark.parametrize(("steps", "a_step_s", "at_once"), [(3, 0.001, 1), (20, 0, 8), (3, 0, 3)])
def test_other_tasks_run_between_slices_of_a_publisher_and_the_next_publisher_waits(
    steps: int, a_step_s: float, at_once: int
) -> None:
    async def main(universe: Universe) -> None:
        world = universe.machine("broker")
        await format_root(world)
        slow, witness = Slow(steps, lambda: universe.skip(a_step_s)), Witness()

        async def tick() -> NoReturn:
            await slow.begun.wait()
            while True:
                slow.seen.append("other")
                await trio.lowlevel.checkpoint()

        async with (
            running_quorum(world, publishers=(slow, witness)) as (driver, loader),
            trio.open_nursery() as nursery,
        ):
            universe.skip(0.01)  # the slice of the last publication is long over
            end = append(driver, [TopicRecord(name="a", topic_id=ID_1)], driver.epoch, 33)
            nursery.start_soon(tick)
            await loader.wait_published(end)
            nursery.cancel_scope.cancel()

        taken = [f"a {number}" for number in range(steps)]
        assert [name for name in slow.seen if name != "other"] == taken
        assert slow.seen[:at_once] == taken[:at_once]
        assert at_once == steps or slow.seen[at_once] == "other"
        assert "a" in witness.seen[-1][1].topics

    run_simulated(main)


class Long:
    """Publishes a topic in 1 ms and without steps, and notes its name."""

    def __init__(self, name: str, take_time: Callable[[float], None], seen: list[str]) -> None:
        self.name = name
        self.take_time = take_time
        self.seen = seen
        self.is_published = trio.Event()

    def publish(self, delta: MetadataDelta, image: MetadataImage, /) -> Iterator[None]:
        del image
        if delta.topics:
            self.take_time(0.001)
            self.seen.append(self.name)
            self.is_published.set()
        return iter(())


def test_other_tasks_run_between_publishers_that_take_long_without_steps() -> None:
    async def main(universe: Universe) -> None:
        world = universe.machine("broker")
        await format_root(world)
        seen: list[str] = []
        publishers = tuple(Long(name, universe.skip, seen) for name in ("first", "second", "third"))

        async def note() -> None:
            await publishers[0].is_published.wait()
            seen.append("other")

        async with (
            running_quorum(world, publishers=publishers) as (driver, loader),
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(note)
            end = append(driver, [TopicRecord(name="a", topic_id=ID_1)], driver.epoch, 33)
            await loader.wait_published(end)

        # Tasks of a pass run in random order: the other one runs in the next pass at the latest.
        assert seen.index("other") < seen.index("third")

    run_simulated(main)


async def test_each_published_delta_starts_from_the_previous_image(autojump_clock) -> None:
    world = simulated_world()
    await format_root(world)
    witness = Witness()
    cache = MetadataCache(MetadataImage())
    async with running_quorum(world, publishers=(witness, cache)) as (driver, loader):
        for record in (
            TopicRecord(name="a", topic_id=ID_1),
            TopicRecord(name="b", topic_id=ID_2),
            RemoveTopicRecord(topic_id=ID_1),
        ):
            end = append(driver, [record], driver.epoch, 33)
            await loader.wait_published(end)
        await trio.lowlevel.checkpoint()

    for (_, before), (delta, _) in zip(witness.seen, witness.seen[1:], strict=False):
        assert delta.image is before
    assert cache.image is witness.seen[-1][1]
    assert list(cache.image.topics) == ["b"]


async def test_a_publisher_gets_only_the_deltas_that_change_what_it_follows(autojump_clock) -> None:
    world = simulated_world()
    await format_root(world)
    of_quotas, of_topics = Witness(), Witness()
    quota = ClientQuotaRecord(
        entity=[EntityData(entity_type="user", entity_name="u")], key="request_percentage", value=1
    )
    async with running_quorum(world) as (driver, loader):
        loader.add(of_quotas, "quotas")
        loader.add(of_topics, "topics")
        for record in (TopicRecord(name="a", topic_id=ID_1), quota):
            end = append(driver, [record], driver.epoch, 33)
            await loader.wait_published(end)

    assert [list(delta.topics) for delta, _ in of_topics.seen] == [[ID_1]]
    assert [list(delta.quotas) for delta, _ in of_quotas.seen] == [[(("user", "u"),)]]
