"""Ranges of offsets as tasks."""

from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.model import TopicPartition
from trio_kafka_spark.source.ranges import OffsetRange, split


def ranges(*sizes: int, start: int = 100) -> list[OffsetRange]:
    return [
        OffsetRange(partition=TopicPartition("t", number), start=start, stop=start + size)
        for number, size in enumerate(sizes)
    ]


def spans(parts: list[OffsetRange]) -> list[tuple[int, int, int]]:
    return [(part.partition.partition, part.start, part.stop) for part in parts]


def test_by_default_each_partition_with_records_is_a_task() -> None:
    assert spans(split(ranges(5, 0, 7, -3))) == [(0, 100, 105), (2, 100, 107)]


def test_no_ranges_give_no_tasks() -> None:
    assert split([], at_least=3, records_each=5) == []


def test_the_larger_partitions_are_split_to_reach_the_minimum_of_tasks() -> None:
    assert spans(split(ranges(10, 100), at_least=5)) == [
        (0, 100, 110),
        (1, 100, 125),
        (1, 125, 150),
        (1, 150, 175),
        (1, 175, 200),
    ]


def test_the_share_of_a_partition_in_tasks_is_rounded_up_from_half() -> None:
    assert len(split(ranges(10, 10), at_least=5)) == 6


def test_partitions_are_not_split_if_they_reach_the_minimum_of_tasks() -> None:
    assert len(split(ranges(10, 100, 5), at_least=3)) == 3


def test_a_range_is_split_into_parts_of_at_most_the_given_size() -> None:
    assert spans(split(ranges(10, 3), records_each=4)) == [
        (0, 100, 103),
        (0, 103, 106),
        (0, 106, 110),
        (1, 100, 103),
    ]


def test_only_the_first_part_of_a_split_range_starts_at_the_earliest_record() -> None:
    whole = OffsetRange(partition=TopicPartition("t", 0), start=4, stop=10, from_earliest=True)

    assert [part.from_earliest for part in split([whole], records_each=2)] == [True, False, False]


@given(
    st.lists(st.integers(-5, 10_000), max_size=12),
    st.none() | st.integers(1, 40),
    st.none() | st.integers(1, 5000),
)
def test_tasks_cover_each_offset_once_in_order(
    sizes: list[int], at_least: int | None, records_each: int | None
) -> None:
    parts = split(ranges(*sizes), at_least=at_least, records_each=records_each)

    for number, size in enumerate(sizes):
        mine = [part for part in parts if part.partition.partition == number]
        assert sum(part.size for part in mine) == max(size, 0)
        assert [part.stop for part in mine[:-1]] == [part.start for part in mine[1:]]
    assert all(part.size > 0 for part in parts)
    if records_each is not None:
        assert all(part.size <= records_each for part in parts)
