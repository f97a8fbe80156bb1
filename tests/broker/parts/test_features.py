from tests.metadata.kit import replay_all
from tests.raft.kit import format_root, running_quorum
from trio_kafka.broker.parts.features import ClusterFeatures
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.features import METADATA_VERSION, SUPPORTED
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.metadata.publisher import MetadataCache
from trio_kafka.protocol.stored.metadata.features import FeatureLevelRecord
from trio_kafka.protocol.stored.metadata.topics import TopicRecord


async def test_feature_levels_and_epoch_are_read_from_the_newest_image(
    world, autojump_clock
) -> None:
    await format_root(world)
    async with running_quorum(world) as (driver, _):
        cache = MetadataCache(MetadataImage())
        features = ClusterFeatures(cache, driver)
        assert (features.finalized, features.epoch) == ({"kraft.version": 1}, -1)

        def change(offset: int, *records) -> None:
            delta = MetadataDelta(cache.image)
            replay_all(delta, records)
            cache.publish(delta, delta.apply(offset, 1, 0))

        change(5, FeatureLevelRecord(METADATA_VERSION, 33), FeatureLevelRecord("group.version", 1))
        assert features.epoch == 4
        change(8, TopicRecord(name="t", topic_id=b"t" * 16))
        assert features.epoch == 7
        assert features.finalized == {METADATA_VERSION: 33, "group.version": 1, "kraft.version": 1}
        change(9, FeatureLevelRecord("group.version", 0))

        assert features.epoch == 8
        assert features.finalized == {METADATA_VERSION: 33, "kraft.version": 1}


async def test_supported_features_are_the_ranges_of_this_software(world, autojump_clock) -> None:
    await format_root(world)
    async with running_quorum(world) as (driver, _):
        features = ClusterFeatures(MetadataCache(MetadataImage()), driver)

        levels = SUPPORTED[METADATA_VERSION]
        assert features.supported[METADATA_VERSION] == (levels.low, levels.high)
        assert set(features.supported) == set(SUPPORTED)
