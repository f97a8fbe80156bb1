"""Sizes of micro-batches: maximum, minimum, delay."""

from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.model import TopicPartition
from trio_kafka_spark.source.limits import TriggerLimits, limited

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_limit_is_shared_in_proportion_to_the_records_of_partitions() -> None:
    assert limited(10, {A: 0, B: 100}, {A: 30, B: 110}) == {A: 7, B: 102}


def test_a_small_partition_advances_by_at_least_one_record() -> None:
    assert limited(10, {A: 0, B: 0}, {A: 10_000, B: 1}) == {A: 9, B: 1}


def test_end_offsets_stay_if_no_partition_has_new_records() -> None:
    assert limited(10, {A: 5}, {A: 5}) == {A: 5}
    assert limited(10, {A: 9, B: 0}, {A: 5, B: 4}) == {A: 5, B: 4}


def test_a_limit_near_the_highest_offset_does_not_overflow() -> None:
    assert limited(2**62, {A: 2**63 - 10}, {A: 2**63 - 1}) == {A: 2**63 - 1}


@given(
    st.integers(1, 1000),
    st.dictionaries(
        st.builds(TopicPartition, st.just("t"), st.integers(0, 20)),
        st.tuples(st.integers(0, 10_000), st.integers(0, 10_000)),
    ),
)
def test_limited_end_offsets_are_between_start_and_latest_and_advance(
    most: int, spans: dict[TopicPartition, tuple[int, int]]
) -> None:
    start = {tp: low for tp, (low, _) in spans.items()}
    latest = {tp: low + size for tp, (low, size) in spans.items()}

    ends = limited(most, start, latest)

    assert all(start[tp] <= ends[tp] <= latest[tp] for tp in spans)
    assert sum(ends[tp] - start[tp] for tp in spans) <= most + len(spans)
    if any(size for _, size in spans.values()):
        assert ends != start


def test_without_limits_a_batch_ends_at_the_latest_offsets() -> None:
    assert TriggerLimits().end({A: 0}, {A: 7, B: 3}, {B: 0}, ending=False) == {A: 7, B: 3}


def test_the_limit_counts_a_new_partition_from_its_earliest_record() -> None:
    limits = TriggerLimits(most=10)

    assert limits.end({A: 0}, {A: 10, B: 1010}, {B: 1000}, ending=False) == {A: 5, B: 1005}


def test_a_batch_waits_for_the_minimum_of_records_until_the_maximum_delay() -> None:
    clock = Clock()
    limits = TriggerLimits(least=100, delay_s=60.0, now=clock)

    assert limits.end({A: 0}, {A: 5}, {}, ending=False) == {A: 5}  # the first waits for nothing
    clock.now = 10.0
    assert limits.end({A: 5}, {A: 104}, {}, ending=False) == {A: 5}
    assert limits.end({A: 5}, {A: 105}, {}, ending=False) == {A: 105}
    clock.now = 69.9
    assert limits.end({A: 105}, {A: 106}, {}, ending=False) == {A: 105}
    clock.now = 70.0
    assert limits.end({A: 105}, {A: 106}, {}, ending=False) == {A: 106}


def test_an_ending_stream_does_not_wait_for_the_minimum_of_records() -> None:
    limits = TriggerLimits(least=100, most=10, now=Clock(), last_trigger=0.0)

    assert limits.end({A: 0}, {A: 25}, {}, ending=True) == {A: 10}
    assert limits.end({A: 20}, {A: 25}, {}, ending=True) == {A: 25}
