"""The first records of an active controller."""

from tests.controller.kit import broker, image_of
from tests.raft.kit import NODE_1
from trio_kafka.controller.bootstrap import first_records, level_in
from trio_kafka.controller.decision import ControllerSettings
from trio_kafka.metadata.features import bootstrap_features
from trio_kafka.metadata.image import ControllerRegistration, MetadataImage

ME = ControllerRegistration(id=NODE_1, incarnation_id=bytes(16))


def names(image: MetadataImage, level: int = 33) -> list[list[str]]:
    batches = first_records(image, bootstrap_features(level), me=ME, settings=ControllerSettings())
    return [[type(record).__name__.removesuffix("Record") for record in batch] for batch in batches]


def test_the_first_records_in_a_non_empty_log_are_only_a_controller_registration() -> None:
    assert names(image_of(broker(1))) == [["RegisterController"]]


def test_first_records_of_old_metadata_versions_omit_unsupported_record_types() -> None:
    assert names(MetadataImage(), 10) == [["FeatureLevel"]]
    assert names(MetadataImage(), 14) == [["BeginTransaction", "FeatureLevel", "EndTransaction"]]


def test_the_newest_metadata_version_is_used_without_bootstrap_records() -> None:
    batches = list(first_records(MetadataImage(), (), me=ME, settings=ControllerSettings()))

    assert level_in(batches[0]) == 33
    assert level_in(batches[1]) == 0
