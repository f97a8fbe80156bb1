import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.replication.isr import check_enough, committed_end, effective_minimum

ENDS = st.integers(-1, 100)


def test_the_minimum_is_never_more_than_there_are_replicas() -> None:
    assert effective_minimum(2, 1) == 1
    assert effective_minimum(2, 3) == 2
    assert effective_minimum(1, 0) == 1


def test_fewer_replicas_than_the_minimum_are_not_enough() -> None:
    check_enough(2, 2)

    with pytest.raises(KafkaError) as caught:
        check_enough(1, 2)
    assert caught.value.code is ErrorCode.NOT_ENOUGH_REPLICAS


def test_a_single_replica_commits_what_it_has() -> None:
    assert committed_end(3, 10, [], enough=True) == 10


def test_the_slowest_follower_decides() -> None:
    assert committed_end(3, 10, [9, 5], enough=True) == 5


@given(ENDS.filter(lambda n: n >= 0), ENDS, st.lists(ENDS, max_size=3), st.booleans())
def test_the_high_watermark_never_falls_and_never_passes_an_end(
    before: int, leader: int, followers: list[int], enough: bool
) -> None:
    after = committed_end(before, leader, followers, enough=enough)

    assert after >= before
    assert after == before or (enough and all(after <= end for end in [leader, *followers]))
