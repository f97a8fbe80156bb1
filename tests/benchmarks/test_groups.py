"""The rows of groups in small, on this broker: that members do what they say."""

from collections.abc import Iterator

import pytest

from tests.benchmarks.brokers import started
from tests.benchmarks.figures import Figures
from tests.benchmarks.members import ClassicMembers, ConsumerMembers, crowd, wait_for_coordinators
from tests.benchmarks.rows import groups
from tests.benchmarks.rows.registry import Target, all_rows

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    directory = tmp_path_factory.mktemp("groups")
    with started("trio-kafka", directory, "offsets.topic.num.partitions=2") as broker:
        yield Target(broker=broker, seconds=0.2, limit=2_000_000, directory=directory)


def check_bounds(name: str, figures: Figures) -> None:
    assert {bound.figure for bound in all_rows()[name].bounds} <= set(figures)
    assert all(figure.value > 0 for figure in figures.values())


@pytest.mark.parametrize("kind", ["classic", "consumer"])
def test_rebalance_of_a_group_is_measured(target: Target, kind: str) -> None:
    figures = groups.rebalance(target, kind=kind, members=3, partitions=6)

    check_bounds(f"group-rebalance-{kind}", figures)


@pytest.mark.parametrize("kind", ["classic", "consumer"])
def test_heartbeats_of_group_members_are_measured(target: Target, kind: str) -> None:
    figures = groups.heartbeats(target, kind=kind, groups=2, members=3, every_s=0.3)

    check_bounds(f"group-heartbeats-{kind}", figures)


def test_offset_commits_of_several_connections_are_measured(target: Target) -> None:
    check_bounds("offset-commit-50x1", groups.offset_commit(target, connections=2))


def test_loading_of_committed_offsets_at_start_is_measured(target: Target) -> None:
    figures = groups.load(target, groups=2, partitions=3, compiled=False)

    check_bounds("group-load-100000", figures)


def test_partitions_of_a_leaving_consumer_member_move_to_the_other_member(target: Target) -> None:
    with target.topic(4) as topic, crowd(target.broker.address, 2) as them:
        group = ConsumerMembers(them, topic, 4, 2)
        wait_for_coordinators(them, [group.group], topic)
        group.form()
        assert group.counts() == [4, 0]

        group.rebalance()
        assert group.counts() == [2, 2]
        group.rebalance()
        assert group.counts() == [4, 0]


def test_each_rebalance_of_a_classic_group_increases_the_generation_by_one(target: Target) -> None:
    with target.topic(4) as topic, crowd(target.broker.address, 2) as them:
        group = ClassicMembers(them, topic, 4, 2)
        wait_for_coordinators(them, [group.group], topic)
        group.form()
        first = group.generation
        group.rebalance()

        assert group.generation == first + 1
        assert len(set(group.ids)) == 2
