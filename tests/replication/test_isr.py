import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.replication.isr import check_enough, committed_end, effective_minimum

ENDS = st.integers(-1, 100)


def test_effective_minimum_is_at_most_the_number_of_replicas() -> None:
    assert effective_minimum(2, 1) == 1
    assert effective_minimum(2, 3) == 2
    assert effective_minimum(1, 0) == 1


def test_fewer_replicas_in_sync_than_the_minimum_are_an_error() -> None:
    check_enough(2, 2)

    with pytest.raises(KafkaError) as caught:
        check_enough(1, 2)
    assert caught.value.code is ErrorCode.NOT_ENOUGH_REPLICAS


def test_single_replica_commits_up_to_its_end_offset() -> None:
    assert committed_end(3, 10, [], enough=True) == 10


def test_committed_end_is_the_end_offset_of_the_slowest_follower() -> None:
    assert committed_end(3, 10, [9, 5], enough=True) == 5


@given(ENDS.filter(lambda n: n >= 0), ENDS, st.lists(ENDS, max_size=3), st.booleans())
def test_high_watermark_never_falls_and_never_exceeds_the_end_offset_of_a_replica(
    before: int, leader: int, followers: list[int], enough: bool
) -> None:
    after = committed_end(before, leader, followers, enough=enough)

    assert after >= before
    assert after == before or (enough and all(after <= end for end in [leader, *followers]))
