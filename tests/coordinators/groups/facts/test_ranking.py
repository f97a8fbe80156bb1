"""Order of groups by trouble."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from tests.coordinators.groups.classic.kit import ClassicKit
from tests.coordinators.groups.test_commits import driver, store, topic_offsets
from trio_kafka.coordinators.groups.facts.ranking import ranked
from trio_kafka.scheduling.chunked_work import step, whole


def shard_of(machine: Any) -> Any:
    """The part of a shard that is read."""
    return SimpleNamespace(machine=machine)


def order(
    *machines: Any,
    is_visible: Callable[[str], bool] = lambda group_id: True,
    may_describe: Callable[[str], bool] = lambda topic: True,
) -> list[str]:
    shards = [shard_of(machine) for machine in machines]
    groups = whole(ranked(shards, lambda topic, partition: 10, is_visible, may_describe))
    return [group.group_id for group in groups]


def test_groups_are_ordered_by_state_then_lag_then_id() -> None:
    rebalancing = ClassicKit()
    rebalancing.joining(1)
    groups = driver()
    store(groups, topic_offsets(9, topic="t"), "ahead")
    store(groups, topic_offsets(2, topic="t"), "behind")
    store(groups, topic_offsets(9, topic="t"), "Ahead too")

    assert order(groups.machine, rebalancing.driver.machine) == [
        "g",
        "behind",
        "Ahead too",
        "ahead",
    ]


def test_stable_group_comes_before_empty_ones_whatever_their_lag() -> None:
    stable = ClassicKit()
    stable.stable()
    groups = driver()
    store(groups, topic_offsets(2, topic="t"), "behind")

    assert order(groups.machine, stable.driver.machine) == ["g", "behind"]


def test_groups_and_topics_that_the_reader_may_not_see_are_left_out() -> None:
    groups = driver()
    store(groups, topic_offsets(9, topic="t"), "ahead")
    store(groups, topic_offsets(2, topic="secret"), "behind")
    store(groups, topic_offsets(2, topic="t"), "hidden")

    visible = order(
        groups.machine,
        is_visible=lambda group_id: group_id != "hidden",
        may_describe=lambda topic: topic != "secret",
    )

    assert visible == ["ahead", "behind"]


def test_negative_offsets_and_partitions_led_elsewhere_add_no_lag() -> None:
    groups = driver()
    store(groups, topic_offsets(-1, 0), "none")
    store(groups, topic_offsets(9, 1), "some")
    store(groups, topic_offsets(3, 2), "elsewhere")

    steps = ranked(
        [shard_of(groups.machine)],
        lambda topic, partition: None if partition == 2 else 10,
        lambda group_id: True,
        lambda topic: True,
    )

    lags = {group.group_id: -group.negative_lag for group in whole(steps)}
    assert lags == {"some": 1, "none": 0, "elsewhere": 0}


def test_many_groups_are_ranked_in_steps() -> None:
    groups = driver()
    for number in range(1000):
        groups.machine.group_or_simple(f"g{number:04}")
    steps = ranked([shard_of(groups.machine)], lambda *_: 0, lambda group_id: True, bool)

    count = 1
    while (done := step(steps)) is None:
        count += 1

    assert len(done.value) == 1000
    assert count >= 4
