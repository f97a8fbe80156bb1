"""Samples of offset and end of the partitions that groups read."""

from collections.abc import Callable, Container

from tests.coordinators.groups.test_commits import driver, store, topic_offsets
from trio_kafka.coordinators.groups.facts.lag_samples import LagKey, LagSamples, lag_samples
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.scheduling.chunked_work import step, whole
from trio_kafka.testing.machines import MachineDriver


def sample(
    groups: MachineDriver[Groups],
    *,
    most: int = 100,
    tracked: Container[LagKey] = (),
    may_sample: Callable[[str, str], bool] = lambda group_id, topic: True,
    end_of: Callable[[str, int], int | None] = lambda topic, partition: 10,
) -> LagSamples:
    steps = lag_samples([groups.machine], end_of, may_sample, tracked=tracked, most=most)
    return whole(steps)


def test_sample_has_offset_and_end_of_each_partition() -> None:
    groups = driver()
    store(groups, topic_offsets(3, 0))
    store(groups, topic_offsets(4, 1), "h")

    samples = sample(groups)

    assert samples.samples == [(("g", "t", 0), 3, 10), (("h", "t", 1), 4, 10)]
    assert samples.left_out == 0


def test_partitions_with_lag_and_tracked_ones_are_sampled_before_others() -> None:
    groups = driver()
    for partition, offset in enumerate((10, 10, 4, 10)):
        store(groups, topic_offsets(offset, partition))

    samples = sample(groups, most=2, tracked={("g", "t", 3)})

    assert [key[2] for key, _, _ in samples.samples] == [2, 3]
    assert samples.left_out == 2


def test_offset_above_the_end_is_a_lag_of_zero() -> None:
    groups = driver()
    store(groups, topic_offsets(12, 0))

    assert sample(groups).samples == [(("g", "t", 0), 12, 12)]


def test_partitions_led_elsewhere_and_negative_offsets_are_not_sampled() -> None:
    groups = driver()
    store(groups, topic_offsets(-1, 0))
    store(groups, topic_offsets(3, 1))

    samples = sample(groups, end_of=lambda topic, partition: None if partition else 10)

    assert samples == LagSamples([], 0)


def test_what_the_reader_may_not_see_is_not_sampled() -> None:
    groups = driver()
    for group_id, topic in (("g", "t"), ("g", "secret"), ("hidden", "t")):
        store(groups, topic_offsets(3, topic=topic), group_id)

    samples = sample(groups, may_sample=lambda group_id, topic: (group_id, topic) == ("g", "t"))

    assert [key for key, _, _ in samples.samples] == [("g", "t", 0)]


def test_many_partitions_are_sampled_in_steps_up_to_a_bound() -> None:
    groups = driver()
    for number in range(300):
        store(groups, topic_offsets(3, 0), f"g{number}")
    steps = lag_samples([groups.machine], lambda *_: 10, lambda *_: True, tracked=(), most=50)

    count = 1
    while (done := step(steps)) is None:
        count += 1

    assert count >= 3
    assert (len(done.value.samples), done.value.left_out) == (50, 250)
