"""Groups that fall behind, with the partition and the member."""

import pytest

from tests.trio_kafka_admin.findings.kit import apply, group, lag, member, moment, words_of
from trio_kafka.introspect.facts.groups import GroupFacts
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.rules.lags import lagging_group

READER = member("m")


def behind(*rows: tuple[int, int], members: bool = True) -> GroupFacts:
    """A group with (offset, end) of each partition."""
    partitions = tuple(
        lag(number, offset=offset, end=end, member_id="m" if members else None)
        for number, (offset, end) in enumerate(rows)
    )
    return group(partitions=partitions, members=(READER,) if members else ())


def words(before: GroupFacts, now: GroupFacts, seconds: float = 10.0) -> list[str]:
    earlier, later = moment(0.0, groups=[before]), moment(seconds, groups=[now])
    return words_of(apply(lagging_group, later, earlier))


def test_growing_lag_names_partition_member_and_growth() -> None:
    before = behind((10, 20), (100, 17_248))
    now = behind((19, 21), (200, 25_833))

    assert words(before, now, 12.0) == [
        (
            "group g falls behind in t-1: by 25,633 records there, 8,485 more than 12 s ago, read"
            " by member m (127.0.0.1)"
        )
    ]


def test_lag_in_several_partitions_is_one_finding_about_the_worst() -> None:
    before = behind((0, 20_000), (0, 30_000), (0, 25_000))
    now = behind((1, 21_000), (1, 32_000), (1, 26_000))
    earlier, later = moment(0.0, groups=[before]), moment(10.0, groups=[now])

    [finding] = apply(lagging_group, later, earlier)

    assert finding.title == "group g falls behind in t-1 and 2 more partitions"
    assert (finding.subject, finding.because) == (
        Subject("partition", "t-1"),
        (Subject("group", "g"),),
    )


@pytest.mark.parametrize(
    ("before", "now", "is_finding"),
    [
        ((0, 12_000), (0, 12_000), True),  # stuck
        ((0, 9_999), (0, 9_999), False),
        ((0, 12_000), (1, 12_000), False),  # it catches up
        ((0, 12_000), (5_000, 17_000), False),  # it keeps pace
        ((0, 900), (10, 999), False),
        ((0, 5_000), (500, 5_600), True),  # it commits, and falls further behind
        ((0, 5_000), (0, 5_600), False),  # the next commit may come
        ((0, 12_000), (0, 12_600), True),
        ((0, 0), (0, 11_000), True),  # nothing is committed for all of the window
        ((5_000, 6_000), (10_000, 12_000), False),  # what has come since the last commit
        ((0, 500), (1_500, 3_300), False),  # a burst
    ],
)
def test_lag_is_a_finding_when_no_next_commit_explains_it(
    before: tuple[int, int], now: tuple[int, int], is_finding: bool
) -> None:
    assert bool(words(behind(before), behind(now))) is is_finding


@pytest.mark.parametrize(
    ("before", "now", "is_finding"),
    [
        ((0, 20_000), (0, 20_250), True),
        ((0, 20_000), (0, 22_000), False),  # at 4,000 a second: a commit may come
        ((0, 9_000), (0, 9_100), False),
    ],
)
def test_in_a_short_time_only_a_large_lag_is_a_finding(
    before: tuple[int, int], now: tuple[int, int], is_finding: bool
) -> None:
    assert bool(words(behind(before), behind(now), 0.5)) is is_finding


def test_group_without_members_is_a_finding_only_while_its_lag_grows() -> None:
    empty = behind((0, 5_000), members=False)

    assert words(empty, empty) == []
    [result] = words(empty, behind((0, 5_500), members=False))
    assert result.endswith("500 more than 10 s ago, and the group has no members")


def test_partition_that_another_broker_leads_or_that_is_new_is_left_out() -> None:
    elsewhere = group(partitions=(lag(0, offset=0, end=None),), members=(READER,))

    assert words(elsewhere, elsewhere) == []
    assert words(group(), behind((0, 50_000))) == []
    assert apply(lagging_group, moment(1.0, groups=[behind((0, 50_000))])) == []
