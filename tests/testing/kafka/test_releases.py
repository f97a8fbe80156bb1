"""Versions and features of older releases of Kafka."""

import pytest

from trio_kafka.metadata.features import SUPPORTED
from trio_kafka.requests.registry import installed_apis
from trio_kafka.testing.kafka.releases import UnknownReleaseError, find_release

RELEASES = ["2.8", "3.3", "3.6", "3.9", "4.0", "4.1", "4.2"]


def test_release_serves_no_higher_version_than_the_next_release():
    result = [find_release(name) for name in RELEASES]
    ours = {api.key: api.last for api in installed_apis() if api.key < 10_000}
    for key, last in ours.items():
        before = -1
        for release in result:
            version = release.last_of(key)
            assert version is None or before <= version <= last, (key, release.name)
            before = before if version is None else version


def test_request_versions_of_a_release_are_those_of_its_release_notes():
    # By the release notes: KIP-951 is of 3.7, KIP-848 of 4.0, topic ids in Fetch of 3.1.
    assert find_release("3.6").last_of(0) == 9
    assert find_release("3.7").last_of(0) == 10
    assert find_release("3.9").last_of(68) is None
    assert find_release("4.0").last_of(68) == 1
    assert find_release("3.0").last_of(1) == 12
    assert find_release("3.1").last_of(1) == 13
    assert find_release("3.9.1") == find_release("v3.9")
    assert find_release("2.1").last_of(10_001) > 0


def test_feature_levels_of_releases_are_supported():
    assert find_release("2.8").levels == {}
    assert find_release("3.9").levels == {"metadata.version": 21, "kraft.version": 1}
    for name in RELEASES[1:]:
        for feature, level in find_release(name).levels.items():
            assert level in SUPPORTED[feature], (name, feature)


@pytest.mark.parametrize("name", ["4.9", "", "x", "4", "3.90"])
def test_unknown_release_is_refused_with_the_list_of_known_releases(name):
    with pytest.raises(UnknownReleaseError, match=r"want one of 0\.11, 1\.0, .*4\.2"):
        find_release(name)
