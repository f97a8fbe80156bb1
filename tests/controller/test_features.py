"""Levels of features."""

import pytest
from attrs import evolve

from tests.controller.kit import broker, image_of, running_controller
from tests.raft.kit import format_root
from trio_kafka.controller.decision import ControllerSettings
from trio_kafka.controller.features import FeatureChange, Levels, Upgrade, update_features
from trio_kafka.controller.topics import NewTopic
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.features import SUPPORTED
from trio_kafka.metadata.image import (
    UNASSIGNED_DIRECTORY,
    ConfigResourceType,
    ControllerRegistration,
    MetadataImage,
    VersionRange,
)
from trio_kafka.model import NodeId
from trio_kafka.protocol.stored.metadata.features import FeatureLevelRecord

ELR = "eligible.leader.replicas.version"
SHARE = "share.version"
MV = "metadata.version"


def levels(image: MetadataImage | None = None, kraft: int = 1) -> Levels:
    return Levels(image=image or image_of(broker(1)), kraft=kraft, me=NodeId(1))


def at(**features: int) -> MetadataImage:
    """A cluster at these levels; `_` in a name stands for `.`."""
    named = {name.replace("_", "."): level for name, level in features.items()}
    return evolve(image_of(broker(1)), features={MV: 33, **named})


def update(stored: Levels, *changes: FeatureChange) -> list[tuple[str, object]]:
    """The records of a change: names and values."""
    settings = ControllerSettings(min_insync_replicas=2)
    records = update_features(stored, changes, settings).records
    return [
        (
            record.name,
            record.feature_level if isinstance(record, FeatureLevelRecord) else record.value,
        )
        for record in records
    ]


def refusal(stored: Levels, *changes: FeatureChange) -> str:
    with pytest.raises(KafkaError) as caught:
        update(stored, *changes)
    assert caught.value.code is ErrorCode.INVALID_UPDATE_VERSION
    return caught.value.message or ""


def test_a_feature_level_that_every_node_supports_is_set() -> None:
    assert update(levels(), FeatureChange(SHARE, 2)) == [(SHARE, 2)]


def test_setting_the_present_feature_level_writes_no_record() -> None:
    assert update(levels(), FeatureChange(MV, 33), FeatureChange("kraft.version", 1)) == []
    assert update(levels(), FeatureChange(MV, 33, Upgrade.SAFE_DOWNGRADE)) == []


@pytest.mark.parametrize("upgrade", [Upgrade.SAFE_DOWNGRADE, Upgrade.UNSAFE_DOWNGRADE])
def test_a_lower_feature_level_needs_a_downgrade_type(upgrade: Upgrade) -> None:
    result = levels(at(share_version=2))

    assert update(result, FeatureChange(SHARE, 1, upgrade)) == [(SHARE, 1)]
    assert update(result, FeatureChange(SHARE, 0, upgrade)) == [(SHARE, 0)]
    assert "request a safe" in refusal(result, FeatureChange(SHARE, 1))


def test_a_downgrade_to_a_higher_feature_level_is_refused() -> None:
    assert "request an upgrade" in refusal(
        levels(), FeatureChange(SHARE, 1, Upgrade.SAFE_DOWNGRADE)
    )


def test_an_unknown_upgrade_type_is_refused() -> None:
    assert [Upgrade.of(number) for number in (-1, 0, 1, 2, 3, 4)] == [0, 0, 1, 2, 3, 0]
    assert "type" in refusal(levels(), FeatureChange(SHARE, 1, Upgrade.UNKNOWN))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (FeatureChange(SHARE, 3), "controller 1 supports 0 to 2"),
        (FeatureChange(SHARE, -1), "expected 0 or more"),
        (FeatureChange("none.version", 1), "controller 1 does not know"),
        (FeatureChange("", 1), "controller 1 does not know"),
        (FeatureChange(MV, 6, Upgrade.UNSAFE_DOWNGRADE), "7 to 33"),
        (FeatureChange(MV, 34), "7 to 33"),
        (FeatureChange("kraft.version", 0, Upgrade.SAFE_DOWNGRADE), "cannot be downgraded"),
        (FeatureChange("kraft.version", 2), "0 to 1"),
    ],
)
def test_unsupported_feature_levels_are_refused_with_a_reason(
    change: FeatureChange, reason: str
) -> None:
    assert reason in refusal(levels(), change)


def test_kraft_version_cannot_be_raised_with_static_voters() -> None:
    result = levels(kraft=0)

    assert update(result, FeatureChange("kraft.version", 0)) == []
    assert "voters are static" in refusal(result, FeatureChange("kraft.version", 1))


def test_a_feature_level_that_one_broker_does_not_support_is_refused() -> None:
    old = evolve(broker(2), features={MV: SUPPORTED[MV], SHARE: VersionRange(0, 1)})
    result = levels(image_of(broker(1), old))

    assert update(result, FeatureChange(SHARE, 1)) == [(SHARE, 1)]
    assert "broker 2 supports 0 to 1" in refusal(result, FeatureChange(SHARE, 2))
    assert "broker 2" in refusal(result, FeatureChange("group.version", 1))


def test_registered_controllers_must_support_a_new_feature_level() -> None:
    old = ControllerRegistration(id=NodeId(2), incarnation_id=bytes(16))
    me = ControllerRegistration(id=NodeId(1), incarnation_id=bytes(16))  # of an older life
    new = evolve(image_of(broker(1)), controllers={NodeId(1): me, NodeId(2): old})
    before = evolve(new, features={MV: 14})

    assert "controller 2" in refusal(levels(new), FeatureChange(SHARE, 1))
    assert update(levels(before), FeatureChange(SHARE, 1)) == [(SHARE, 1)]


def test_a_metadata_version_downgrade_that_may_lose_records_is_refused() -> None:
    down, anyhow = Upgrade.SAFE_DOWNGRADE, Upgrade.UNSAFE_DOWNGRADE
    same = levels(at(metadata_version=29))

    assert update(same, FeatureChange(MV, 23, down)) == [(MV, 23)]
    assert "may be lost" in refusal(same, FeatureChange(MV, 22, down))
    assert "unsafe downgrade is not" in refusal(same, FeatureChange(MV, 22, anyhow))
    assert "request a safe" in refusal(same, FeatureChange(MV, 28))
    assert "may be lost" in refusal(levels(), FeatureChange(MV, 32, down))
    assert update(levels(at(metadata_version=20)), FeatureChange(MV, 33)) == [(MV, 33)]


def test_the_required_level_of_a_feature_must_be_present_or_in_the_same_request() -> None:
    old = levels(at(metadata_version=22))
    up = FeatureChange(MV, 23)

    assert f"requires {MV} 23, found 22" in refusal(old, FeatureChange(ELR, 1))
    for changes in ((up, FeatureChange(ELR, 1)), (FeatureChange(ELR, 1), up)):
        assert set(update(old, *changes)) == {("min.insync.replicas", "2"), (MV, 23), (ELR, 1)}


def test_enabling_elr_also_sets_a_cluster_wide_min_insync_replicas() -> None:
    result = levels(at())

    assert update(result, FeatureChange(ELR, 1)) == [("min.insync.replicas", "2"), (ELR, 1)]
    assert update(levels(), FeatureChange(ELR, 1)) == []
    assert update(levels(), FeatureChange(ELR, 0, Upgrade.SAFE_DOWNGRADE)) == [(ELR, 0)]


def test_one_refused_feature_change_refuses_all_and_the_last_duplicate_applies() -> None:
    result = levels(at(share_version=1))

    assert "nosuch" in refusal(result, FeatureChange(SHARE, 2), FeatureChange("nosuch", 1))
    assert update(result, FeatureChange(SHARE, 9), FeatureChange(SHARE, 2)) == [(SHARE, 2)]


async def test_a_cluster_at_an_old_metadata_version_is_upgraded_while_running(
    world, autojump_clock
) -> None:
    await format_root(world, level=14)
    async with running_controller(world) as running:
        await running.join()
        await running.controller.create_topics([NewTopic(name="before")])
        names = ["metadata.version", "group.version", ELR]
        await running.controller.update_features(
            [FeatureChange(name, SUPPORTED[name].high) for name in names]
        )
        await running.controller.create_topics([NewTopic(name="after")])
        first = running.image
    async with running_controller(world) as running:
        await running.join(life=2)
        second = running.image

    for image in (first, second):
        assert set(image.topics) == {"before", "after"}
        assert dict(image.features) == {MV: 33, "group.version": 1, ELR: 1}
        assert image.config(ConfigResourceType.BROKER, "") == {"min.insync.replicas": "1"}
        assert image.topics["before"].partitions[0].directory(NodeId(1)) == UNASSIGNED_DIRECTORY
    assert first.brokers[NodeId(1)].log_dirs == ()
    assert second.brokers[NodeId(1)].log_dirs != ()
