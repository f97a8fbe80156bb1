"""The loader: nothing before the whole, then every change to every publisher in order."""

import trio

from tests.metadata.kit import ONE, TWO
from tests.raft.kit import format_root, running_quorum
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.metadata.publisher import MetadataCache
from trio_kafka.protocol.stored.metadata.topics import RemoveTopicRecord, TopicRecord
from trio_kafka.testing.simulation import simulated_world


class Witness:
    def __init__(self) -> None:
        self.seen: list[tuple[MetadataDelta, MetadataImage]] = []

    def publish(self, delta: MetadataDelta, image: MetadataImage, /) -> None:
        self.seen.append((delta, image))


async def test_the_first_image_that_is_published_has_all_that_was_committed(autojump_clock) -> None:
    world = simulated_world()
    await format_root(world)
    async with running_quorum(world) as (driver, _):
        for number in range(300):
            record = TopicRecord(name=f"t{number}", topic_id=number.to_bytes(16))
            end = driver.append([record], driver.epoch, 33)
        await driver.wait_committed(end)
    witness = Witness()

    async with running_quorum(world, publishers=(witness,)) as (_, loader):
        assert len(witness.seen) == 1
        assert len(witness.seen[0][1].topics) == 300
        assert loader.image is witness.seen[0][1]


async def test_deltas_follow_one_another_without_a_gap(autojump_clock) -> None:
    world = simulated_world()
    await format_root(world)
    witness = Witness()
    cache = MetadataCache(MetadataImage())
    async with running_quorum(world, publishers=(witness, cache)) as (driver, loader):
        for record in (
            TopicRecord(name="a", topic_id=ONE),
            TopicRecord(name="b", topic_id=TWO),
            RemoveTopicRecord(topic_id=ONE),
        ):
            end = driver.append([record], driver.epoch, 33)
            await loader.wait_published(end)
        await trio.lowlevel.checkpoint()

    for (_, before), (delta, _) in zip(witness.seen, witness.seen[1:], strict=False):
        assert delta.image is before
    assert cache.image is witness.seen[-1][1]
    assert list(cache.image.topics) == ["b"]
