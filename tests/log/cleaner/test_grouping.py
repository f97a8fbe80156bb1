import pytest

from tests.log.cleaner.kit import rules
from trio_kafka.log.cleaner.grouping import group_segments
from trio_kafka.log.cleaner.job import CleaningJob, SealedFile

FAR = 1 << 31


def groups(*segments: SealedFile, end: int = 1 << 40, upper: int = 1 << 40) -> list[list[int]]:
    job = CleaningJob(
        rules=rules(segment_bytes=100, segment_index_bytes=50),
        segments=segments,
        first_dirty_offset=0,
        first_uncleanable_offset=upper,
    )
    return [[segment.base_offset for segment in group] for group in group_segments(job, end)]


def test_a_group_is_at_most_as_large_as_a_segment() -> None:
    result = groups(
        SealedFile(base_offset=0, size=50, index_size=0, time_index_size=0),
        SealedFile(base_offset=1, size=50, index_size=0, time_index_size=0),
        SealedFile(base_offset=2, size=1, index_size=0, time_index_size=0),
        SealedFile(base_offset=3, size=500, index_size=0, time_index_size=0),
        SealedFile(base_offset=4, size=0, index_size=0, time_index_size=0),
        upper=10,
    )

    assert result == [[0, 1], [2], [3], [4]]


@pytest.mark.parametrize(("index", "time_index"), [(30, 0), (0, 30)])
def test_indexes_of_a_group_are_at_most_as_large_as_segment_index_bytes(
    index: int, time_index: int
) -> None:
    assert groups(
        *(
            SealedFile(base_offset=base, size=1, index_size=index, time_index_size=time_index)
            for base in range(3)
        ),
        upper=10,
    ) == [[0], [1], [2]]
    small = [
        SealedFile(base_offset=base, size=1, index_size=25, time_index_size=25) for base in range(3)
    ]
    assert groups(*small, upper=10) == [[0, 1], [2]]


def test_offsets_of_a_group_fit_into_31_bits() -> None:
    near = [
        SealedFile(base_offset=0, size=1, index_size=0, time_index_size=0),
        SealedFile(base_offset=5, size=1, index_size=0, time_index_size=0),
        SealedFile(base_offset=FAR, size=1, index_size=0, time_index_size=0),
    ]

    assert groups(*near, upper=FAR + 1) == [[0, 5], [FAR]]
    near[1:2] = [
        SealedFile(base_offset=5, size=1, index_size=0, time_index_size=0),
        SealedFile(base_offset=6, size=1, index_size=0, time_index_size=0),
    ]
    assert groups(*near[:3], upper=FAR) == [[0, 5, 6]]
    assert groups(*near[:3], upper=FAR + 1) == [[0, 5], [6]]


def test_empty_segment_joins_a_group_however_far_its_offset_is() -> None:
    assert groups(
        SealedFile(base_offset=0, size=1, index_size=0, time_index_size=0),
        SealedFile(base_offset=FAR + 9, size=0, index_size=0, time_index_size=0),
    ) == [[0, FAR + 9]]


def test_segments_after_the_end_are_left_out() -> None:
    segments = [
        SealedFile(base_offset=base, size=60, index_size=0, time_index_size=0)
        for base in (0, 10, 20)
    ]

    assert groups(*segments, end=11) == [[0], [10]]
    assert groups(*segments, end=10) == [[0]]
    assert groups(*segments, end=0) == []
