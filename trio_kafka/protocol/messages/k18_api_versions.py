"""ApiVersions (key 18): list the APIs and versions of a broker; usually a client's
first request.
"""

from typing import ClassVar

from trio_kafka.protocol.fields import array, boolean, int16, int32, int64, string
from trio_kafka.protocol.schema import request, response, struct


@request(key=18, versions="0-5", flexible="3+")
class ApiVersionsRequest:
    """Name and version of the client software (v3+)."""

    response: ClassVar[type["ApiVersionsResponse"]]

    client_software_name: str = string("3+", ignorable=True)
    client_software_version: str = string("3+", ignorable=True)
    cluster_id: str | None = string("5+", nullable="5+", default=None, ignorable=True)
    node_id: int = int32("5+", default=-1, ignorable=True)


@struct
class ApiVersion:
    api_key: int = int16()
    min_version: int = int16()
    max_version: int = int16()


@struct
class SupportedFeatureKey:
    name: str = string()
    min_version: int = int16()
    max_version: int = int16()


@struct
class FinalizedFeatureKey:
    name: str = string()
    max_version_level: int = int16()
    min_version_level: int = int16()


@response(ApiVersionsRequest)
class ApiVersionsResponse:
    """Supported versions. The header is always version 0, which every client understands."""

    error_code: int = int16()
    api_keys: list[ApiVersion] = array(ApiVersion)
    throttle_time_ms: int = int32("1+", ignorable=True)
    supported_features: list[SupportedFeatureKey] = array(
        SupportedFeatureKey, "3+", tag=0, ignorable=True
    )
    finalized_features_epoch: int = int64("3+", tag=1, default=-1, ignorable=True)
    finalized_features: list[FinalizedFeatureKey] = array(
        FinalizedFeatureKey, "3+", tag=2, ignorable=True
    )
    zk_migration_ready: bool = boolean("3+", tag=3, ignorable=True)
