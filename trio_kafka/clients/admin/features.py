"""Calls about the feature levels of the cluster."""

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Final

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.clients.admin.calls.call import (
    Call,
    Plan,
    Rejection,
    perform,
    perform_single,
    result_of,
)
from trio_kafka.clients.admin.calls.results import Results
from trio_kafka.clients.admin.calls.targets import ANY, CONTROLLER
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest, ApiVersionsResponse
from trio_kafka.protocol.messages.k57_update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

_VERSIONS: Final = 4  # later ones name a cluster and a node
_SOFTWARE: Final = ("trio-kafka", "1")
Range = tuple[int, int]


class UpgradeType(IntEnum):
    """Direction of a change: a downgrade may lose metadata if it is unsafe."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@frozen
class FeatureUpdate:
    """New level of a feature; 0 switches it off."""

    max_version_level: int
    upgrade_type: UpgradeType = UpgradeType.UPGRADE


@frozen(kw_only=True)
class FeatureMetadata:
    """Levels by feature. finalized: of the cluster. supported: by the broker that was asked.

    finalized_epoch: offset of the metadata; None: not known.
    """

    finalized: Mapping[str, Range] = field(factory=dict)
    supported: Mapping[str, Range] = field(factory=dict)
    finalized_epoch: int | None = None


def describe_features() -> Plan[FeatureMetadata]:
    """Return the lowest and highest level of each feature."""
    call: Call[None, ApiVersionsResponse, FeatureMetadata] = Call(
        targets={None: ANY},
        request=lambda _items, _timeout_ms: ApiVersionsRequest(*_SOFTWARE),
        read=_read_features,
        at_most=_VERSIONS,
    )
    return perform_single(call)


def update_features(
    updates: Mapping[str, FeatureUpdate], *, validate_only: bool = False
) -> Plan[Results[str, None]]:
    """Change the levels of features: all of them, or none."""

    def request(items: Sequence[str], timeout_ms: int) -> UpdateFeaturesRequest:
        rows = [
            FeatureUpdateKey(
                feature=name,
                max_version_level=updates[name].max_version_level,
                upgrade_type=updates[name].upgrade_type,
            )
            for name in items
        ]
        return UpdateFeaturesRequest(timeout_ms, rows, validate_only)

    return perform(
        Call(targets=dict.fromkeys(updates, CONTROLLER), request=request, read=_read_updates)
    )


def _read_features(
    response: ApiVersionsResponse, _items: Sequence[None]
) -> Iterator[tuple[None, FeatureMetadata | Rejection]]:
    epoch = response.finalized_features_epoch
    metadata = FeatureMetadata(
        finalized={
            row.name: (row.min_version_level, row.max_version_level)
            for row in response.finalized_features
        },
        supported={
            row.name: (row.min_version, row.max_version) for row in response.supported_features
        },
        finalized_epoch=epoch if epoch >= 0 else None,
    )
    yield None, result_of(response.error_code, None, metadata)


def _read_updates(
    response: UpdateFeaturesResponse, items: Sequence[str]
) -> Iterator[tuple[str, Rejection | None]]:
    """Take one error for all features, and from older brokers one for each."""
    rows = {row.feature: (row.error_code, row.error_message) for row in response.results}
    for name in items:
        code, message = response.error_code, response.error_message
        if not code:
            code, message = rows.get(name, (code, message))
        yield name, result_of(code, message, None)
