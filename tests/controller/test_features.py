"""Levels of features."""

import pytest
from attrs import evolve

from tests.controller.kit import broker, image_of
from trio_kafka.controller.features import (
    FeatureChange,
    Upgrade,
    supported_features,
    update_feature,
)
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import VersionRange


def test_a_level_that_every_node_supports_is_set() -> None:
    made = update_feature(image_of(broker(1)), FeatureChange("share.version", 2))

    assert (made.records[0].name, made.records[0].feature_level) == ("share.version", 2)
    assert supported_features()["share.version"] == VersionRange(0, 2)


def test_the_present_level_needs_no_record() -> None:
    assert not update_feature(image_of(broker(1)), FeatureChange("metadata.version", 33)).records


def test_a_downgrade_must_be_asked_for() -> None:
    image = evolve(image_of(broker(1)), features={"metadata.version": 33, "share.version": 2})
    down = FeatureChange("share.version", 1, Upgrade.SAFE_DOWNGRADE)

    assert update_feature(image, down).records


@pytest.mark.parametrize(
    "change",
    [
        FeatureChange("share.version", 3),
        FeatureChange("none.version", 1),
        FeatureChange("kraft.version", 1),
        FeatureChange("metadata.version", 20),
        FeatureChange("metadata.version", 20, Upgrade.SAFE_DOWNGRADE),
        FeatureChange("share.version", 1, Upgrade.SAFE_DOWNGRADE),
        FeatureChange("group.version", 1),
    ],
)
def test_what_cannot_be_is_refused(change: FeatureChange) -> None:
    old = evolve(broker(1), features={"share.version": VersionRange(0, 2)})

    with pytest.raises(KafkaError) as caught:
        update_feature(image_of(old), change)

    assert caught.value.code is ErrorCode.INVALID_UPDATE_VERSION
