"""UpdateFeatures: levels of the cluster, and what ApiVersions tells of them."""

from typing import Any

import pytest
from trio.testing import MockClock

from tests.apis.kit import broker, stable
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k57_update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
)
from trio_kafka.protocol.stored.metadata.features import FeatureLevelRecord
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import run_until_crash, simulated_world
from trio_kafka.world.simulated import SimulatedWorld

UP, SAFE, UNSAFE = 1, 2, 3
SHARE, GROUP, MV, KRAFT = "share.version", "group.version", "metadata.version", "kraft.version"
NEW_CLUSTER = {
    "eligible.leader.replicas.version": 1,
    GROUP: 1,
    KRAFT: 1,
    MV: 33,
    SHARE: 2,
    "streams.version": 1,
    "transaction.version": 2,
}
REFUSED = ErrorCode.INVALID_UPDATE_VERSION


async def update(
    served: ServedBroker,
    *levels: tuple[str, int] | tuple[str, int, int],
    version: int = 2,
    validate_only: bool = False,
    timeout_ms: int = 5000,
) -> Any:
    """Ask for levels; the third item is the type of the upgrade, which version 0 does not have."""
    keys = []
    for name, level, *upgrade in levels:
        key = FeatureUpdateKey(name, level)
        if version:
            key.upgrade_type = upgrade[0] if upgrade else UP
        keys.append(key)
    return await served.ask(UpdateFeaturesRequest(timeout_ms, keys, validate_only), version)


async def levels_and_epoch(served: ServedBroker) -> tuple[dict[str, int], int]:
    """The levels in use and their epoch."""
    answer = await served.ask(ApiVersionsRequest("t", "1"), 4)
    for feature in answer.finalized_features:
        assert feature.min_version_level == feature.max_version_level
    levels = {feature.name: feature.max_version_level for feature in answer.finalized_features}
    return levels, answer.finalized_features_epoch


async def test_a_new_cluster_has_the_features_of_kafka_4_4(autojump_clock: MockClock) -> None:
    async with broker() as served:
        levels, epoch = await levels_and_epoch(served)
        image = served.broker.metadata.image
        answer = await served.ask(ApiVersionsRequest("t", "1"), 4)

    assert levels == NEW_CLUSTER
    assert epoch == image.offset - 1
    assert {
        feature.name: (feature.min_version, feature.max_version)
        for feature in answer.supported_features
    } == {
        "eligible.leader.replicas.version": (0, 1),
        GROUP: (0, 1),
        KRAFT: (0, 1),
        MV: (7, 33),
        SHARE: (0, 2),
        "streams.version": (0, 1),
        "transaction.version": (0, 2),
    }


@pytest.mark.parametrize("version", range(3, 6))
async def test_api_versions_lists_features_since_version_3(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        answer = await served.ask(ApiVersionsRequest("t", "1"), version)

    supported = [feature.name for feature in answer.supported_features]
    # A version below 4 cannot say that a feature may be at level 0.
    assert supported == ([MV] if version == 3 else sorted(NEW_CLUSTER))
    assert {feature.name for feature in answer.finalized_features} == set(NEW_CLUSTER)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("way", [SAFE, UNSAFE])
async def test_feature_levels_go_down_and_up_and_the_epoch_increases(
    autojump_clock: MockClock, version: int, way: int
) -> None:
    async with broker() as served:
        _, first = await levels_and_epoch(served)

        answer = await update(served, (SHARE, 1, way), (GROUP, 0, way), version=version)
        down, second = await levels_and_epoch(served)
        again = await update(served, (SHARE, 2), (GROUP, 1), version=version)
        up, third = await levels_and_epoch(served)

    both = [(SHARE, 0, None), (GROUP, 0, None)]
    for response in (answer, again):
        assert (response.error_code, response.error_message) == (0, None)
        result = [(row.feature, row.error_code, row.error_message) for row in response.results]
        assert result == (both if version < 2 else [])
    assert down == {name: level for name, level in NEW_CLUSTER.items() if name != GROUP} | {
        SHARE: 1
    }
    assert up == NEW_CLUSTER
    assert first < second < third


@pytest.mark.parametrize("version", stable(UpdateFeaturesRequest))
async def test_an_update_to_the_current_level_changes_nothing(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        before = served.broker.metadata.image
        answer = await update(served, (GROUP, 1), (MV, 33), (KRAFT, 1), version=version)
        nothing = await update(served, version=version)
        after = served.broker.metadata.image

    assert (answer.error_code, nothing.error_code) == (0, 0)
    assert [row.feature for row in answer.results] == ([GROUP, MV, KRAFT] if version < 2 else [])
    assert after is before


@pytest.mark.parametrize("version", stable(UpdateFeaturesRequest))
@pytest.mark.parametrize(
    "level",
    [
        ("nosuch.version", 1, UP),
        ("", 1, UP),
        (GROUP, 9, UP),
        (GROUP, -1, UP),
        (GROUP, 0, UP),
        (MV, 34, UP),
        (MV, 32, UP),
        (MV, 6, UP),
    ],
)
async def test_an_invalid_level_refuses_the_whole_request_in_every_version(
    autojump_clock: MockClock, version: int, level: tuple[str, int, int]
) -> None:
    async with broker() as served:
        before = served.broker.metadata.image
        answer = await update(served, (SHARE, 2), level, version=version)
        after = served.broker.metadata.image

    assert (answer.error_code, answer.results) == (REFUSED, [])
    assert (answer.error_message or "").startswith(f"{level[0]} cannot be {level[1]}: ")
    assert after is before


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    "level",
    [
        (GROUP, 1, 0),
        (GROUP, 1, 9),
        (MV, 32, SAFE),
        (MV, 32, UNSAFE),
        (MV, 6, UNSAFE),
        (KRAFT, 0, SAFE),
        (KRAFT, 2, UP),
    ],
)
async def test_a_downgrade_that_would_lose_metadata_is_refused(
    autojump_clock: MockClock, version: int, level: tuple[str, int, int]
) -> None:
    async with broker() as served:
        before = served.broker.metadata.image
        answer = await update(served, level, version=version)

        assert answer.error_code == REFUSED
        assert served.broker.metadata.image is before


async def test_version_0_cannot_ask_for_a_downgrade(autojump_clock: MockClock) -> None:
    async with broker() as served:
        key = FeatureUpdateKey(GROUP, 0, allow_downgrade=True)
        answer = await served.ask(UpdateFeaturesRequest(5000, [key]), 0)

    assert answer.error_code == REFUSED  # as Kafka answers


@pytest.mark.parametrize("version", [1, 2])
async def test_validate_only_returns_the_results_and_changes_nothing(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        before = served.broker.metadata.image
        good = await update(served, (GROUP, 0, SAFE), version=version, validate_only=True)
        bad = await update(served, (GROUP, 0), version=version, validate_only=True)

        assert (good.error_code, bad.error_code) == (0, REFUSED)
        assert served.broker.metadata.image is before


async def test_a_timeout_of_0_does_not_prevent_the_change(autojump_clock: MockClock) -> None:
    async with broker() as served:
        answer = await update(served, (SHARE, 1, SAFE), timeout_ms=0)

        assert answer.error_code == 0
        assert (await levels_and_epoch(served))[0][SHARE] == 1


async def test_a_changed_level_is_one_record_in_the_metadata_log(autojump_clock: MockClock) -> None:
    async with broker() as served:
        start = served.broker.metadata.image.offset
        await update(served, (SHARE, 1, SAFE))
        batches = await served.broker.raft.read(start)

    records = [record for batch in batches for record in batch.records]
    assert records == [FeatureLevelRecord(name=SHARE, feature_level=1)]


@pytest.mark.parametrize("power", [False, True])
async def test_feature_levels_survive_a_kill_and_a_power_loss(
    autojump_clock: MockClock, power: bool
) -> None:
    world = simulated_world()

    async def life(world: SimulatedWorld) -> None:
        async with served_broker(world) as served:
            await update(served, (SHARE, 1, SAFE), (GROUP, 0, SAFE))

    await run_until_crash(world, life, 60, power=power, kept=0.0)

    async with served_broker(world.universe.machine(world.name)) as served:
        levels, _ = await levels_and_epoch(served)
    assert (levels[SHARE], GROUP in levels) == (1, False)
