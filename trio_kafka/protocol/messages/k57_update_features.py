"""UpdateFeatures (key 57): change the levels of features."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, boolean, int8, int16, int32, string
from trio_kafka.protocol.schema import request, response, struct


@struct
class FeatureUpdateKey:
    feature: str = string()
    max_version_level: int = int16()
    allow_downgrade: bool = boolean("0")
    upgrade_type: int = int8("1+", default=1)


@request(key=57, versions="0-2", flexible="0+")
class UpdateFeaturesRequest:
    """New levels; the upgrade type (v1+) says if a downgrade is allowed."""

    response: ClassVar[type["UpdateFeaturesResponse"]]

    timeout_ms: int = int32(default=60000)
    feature_updates: list[FeatureUpdateKey] = array(FeatureUpdateKey)
    validate_only: bool = boolean("1+")


@struct
class UpdatableFeatureResult:
    feature: str = string()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")


@response(UpdateFeaturesRequest)
class UpdateFeaturesResponse:
    """An error; up to v1 one for each feature."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    results: list[UpdatableFeatureResult] = array(UpdatableFeatureResult, "0-1", ignorable=True)
