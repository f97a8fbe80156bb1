"""Feature levels in messages."""

from tests.clients.admin.kit import Cluster
from trio_kafka.clients.admin.features import (
    FeatureUpdate,
    UpgradeType,
    describe_features,
    update_features,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k18_api_versions import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from trio_kafka.protocol.messages.k57_update_features import (
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

UPDATES = {"a": FeatureUpdate(3), "b": FeatureUpdate(0, UpgradeType.SAFE_DOWNGRADE)}


def updated(response):
    cluster = Cluster({UpdateFeaturesRequest: lambda _request: response})
    return cluster, cluster.run(update_features(UPDATES, validate_only=True))


def test_levels_are_from_lowest_to_highest():
    response = ApiVersionsResponse(
        supported_features=[SupportedFeatureKey("a", 0, 5)],
        finalized_features=[FinalizedFeatureKey("a", 3, 1)],
        finalized_features_epoch=-1,
    )
    cluster = Cluster({ApiVersionsRequest: lambda _request: response})

    features = cluster.run(describe_features())

    assert (features.finalized, features.supported) == ({"a": (1, 3)}, {"a": (0, 5)})
    assert features.finalized_epoch is None


def test_success_names_no_features_in_newer_answers():
    cluster, results = updated(UpdateFeaturesResponse())

    assert results.all() == {"a": None, "b": None}
    ((_, request),) = cluster.requests
    assert [
        (row.feature, row.max_version_level, row.upgrade_type) for row in request.feature_updates
    ] == [("a", 3, 1), ("b", 0, 2)]
    assert request.validate_only


def test_error_of_the_request_is_one_of_each_feature_and_older_answers_name_them():
    _, whole = updated(UpdateFeaturesResponse(error_code=95, error_message="no"))
    rows = [UpdatableFeatureResult("a", 96, "bad"), UpdatableFeatureResult("b")]
    _, single = updated(UpdateFeaturesResponse(results=rows))

    assert {error.code for error in whole.errors.values()} == {ErrorCode.INVALID_UPDATE_VERSION}
    assert set(whole.errors) == {"a", "b"}
    assert list(single.errors) == ["a"]
