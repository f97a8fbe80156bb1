from itertools import count

import pytest

from tests.replication.kit import want
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.replication.leader.session_cache import MOST_AT_ONCE, MOST_UNKNOWN, SessionCache
from trio_kafka.replication.leader.sessions import FetchKey, Session
from trio_kafka.scheduling.chunked_work import whole


def new_cache(slots: int = 2, *, most: int = 100_000, existing: int = 100_000) -> SessionCache:
    """existing: partitions of the topic that keys() names."""
    ids = count(101)
    ignore = lambda key, session: None  # noqa: E731 - nothing to watch
    return SessionCache(
        slots,
        lambda low, high: next(ids),
        ignore,
        ignore,
        most_partitions=most,
        exists=lambda key: key[1] < existing,
    )


def keys(number: int = 1) -> list[FetchKey]:
    return [("t", n) for n in range(number)]


def poll(
    cache: SessionCache,
    session_id: int = 0,
    epoch: int = 0,
    *,
    size: int = 1,
    forget: list[FetchKey] = (),
    uses_ids: bool = True,
    privileged: bool = False,
    now: float = 0.0,
) -> Session:
    return cache.poll(
        session_id,
        epoch,
        {key: want() for key in keys(size)},
        forget,
        uses_ids=uses_ids,
        privileged=privileged,
        now=now,
    )


def refused(cache: SessionCache, *arguments, **fields) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        poll(cache, *arguments, **fields)
    return caught.value.code


def test_first_fetch_begins_a_session_whose_next_epoch_is_1() -> None:
    cache = new_cache()

    session = poll(cache, size=3)

    assert (session.id, session.epoch, len(session.partitions)) == (101, 1, 3)
    assert len(cache) == 1


def test_fetch_with_another_than_the_next_session_epoch_is_refused() -> None:
    cache = new_cache()
    session = poll(cache)

    assert poll(cache, session.id, 1, size=0) is session
    assert session.epoch == 2
    assert refused(cache, session.id, 1) is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert refused(cache, session.id, 3) is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert poll(cache, session.id, 2) is session


def test_an_unknown_session_is_not_found() -> None:
    assert refused(new_cache(), 77, 1) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_session_refuses_a_change_from_topic_ids_to_topic_names() -> None:
    cache = new_cache()
    session = poll(cache, uses_ids=True)

    code = refused(cache, session.id, 1, uses_ids=False)

    assert code is ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    assert session.epoch == 1


@pytest.mark.parametrize("epoch", [0, -1])
def test_full_fetch_ends_the_session_that_the_request_names(epoch: int) -> None:
    cache = new_cache()
    old = poll(cache)

    new = poll(cache, old.id, epoch)

    assert not old.partitions
    assert (new.id == 0) == (epoch == -1)
    assert refused(cache, old.id, 1) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_session_without_partitions_ends() -> None:
    cache = new_cache()
    session = poll(cache)

    last_session = poll(cache, session.id, 1, size=0, forget=keys())

    assert (last_session.id, len(last_session.partitions), len(cache)) == (0, 0, 0)


def test_fetch_gets_no_session_if_the_cache_is_full() -> None:
    cache = new_cache(1)
    poll(cache)

    assert poll(cache, size=5, now=1.0).id == 0
    assert len(cache) == 1


def test_fetch_gets_no_session_if_the_cache_has_no_slots() -> None:
    assert poll(new_cache(0)).id == 0


def test_session_unused_for_two_minutes_is_evicted() -> None:
    cache = new_cache(2)
    first, second = poll(cache), poll(cache)
    poll(cache, first.id, 1, now=60.0)

    assert poll(cache, now=120.0).id == 0
    assert poll(cache, now=121.0).id == 103
    assert not second.partitions
    assert first.partitions
    assert cache.evictions == 1


def test_old_session_is_evicted_only_for_a_session_with_as_many_partitions() -> None:
    cache = new_cache(1)
    old = poll(cache, size=5)
    poll(cache, old.id, 1, size=0, now=100.0)
    poll(cache, old.id, 2, size=0, now=121.0)

    assert poll(cache, size=4, now=122.0).id == 0
    assert poll(cache, size=6, now=122.0).id == 102


def test_session_of_a_follower_evicts_a_consumer_and_is_never_evicted() -> None:
    cache = new_cache(1)
    poll(cache, size=50)

    follower = poll(cache, privileged=True, now=1.0)

    assert follower.id == 102
    assert poll(cache, size=50, now=2.0).id == 0
    assert poll(cache, size=50, privileged=True, now=2.0).id == 0


def test_smallest_evictable_session_is_evicted() -> None:
    cache = new_cache(2)
    poll(cache, size=9)
    small = poll(cache, size=2)

    poll(cache, privileged=True, now=1.0)

    assert not small.partitions


def test_figures_count_sessions_partitions_and_evictions() -> None:
    cache = new_cache()
    poll(cache, size=3)

    assert cache.figures() == {
        "sessions": 1,
        "slots": 2,
        "most_partitions": 100_000,
        "partitions": 3,
        "dirty": 3,
        "evictions": 0,
    }


@pytest.mark.parametrize(("size", "kept"), [(9, 19), (10, 20), (11, 10)])
def test_number_of_partitions_of_all_sessions_is_limited(size: int, kept: int) -> None:
    cache = new_cache(slots=5, most=20)
    poll(cache, size=10)

    session = poll(cache, size=size)

    assert len(session.partitions) == size
    assert bool(session.id) is (size <= 10)
    assert cache.figures()["partitions"] == kept


def test_unused_session_is_evicted_for_the_partitions_of_a_new_session() -> None:
    cache = new_cache(slots=5, most=20)
    old = poll(cache, size=15)

    young = poll(cache, size=15, now=121.0)

    assert young.id != 0
    assert refused(cache, old.id, 1, now=121.0) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert cache.figures()["partitions"] == 15
    assert cache.evictions == 1


def test_session_that_grows_beyond_the_limit_of_partitions_ends() -> None:
    cache = new_cache(slots=5, most=20)
    session = poll(cache, size=15)

    assert refused(cache, session.id, 1, size=21) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert (len(cache), cache.figures()["partitions"]) == (0, 0)


def test_forgotten_partitions_no_longer_count() -> None:
    cache = new_cache(slots=5, most=20)
    session = poll(cache, size=15)
    poll(cache, session.id, 1, size=0, forget=keys(10))

    assert cache.figures()["partitions"] == 5
    cache.remove(session.id)
    assert cache.figures()["partitions"] == 0


@pytest.mark.parametrize("unknown", [0, MOST_UNKNOWN, MOST_UNKNOWN + 1])
def test_fetch_with_many_unknown_partitions_gets_no_session(unknown: int) -> None:
    cache = new_cache(existing=10)

    session = poll(cache, size=10 + unknown)

    assert bool(session.id) is (unknown <= MOST_UNKNOWN)
    assert len(session.partitions) == 10 + unknown


def test_session_that_gets_many_unknown_partitions_ends() -> None:
    cache = new_cache(existing=10)
    session = poll(cache, size=10)

    result = refused(cache, session.id, 1, size=11 + MOST_UNKNOWN)

    assert result is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert len(cache) == 0


def test_unknown_partitions_named_again_count_once() -> None:
    cache = new_cache(existing=10)
    session = poll(cache, size=10 + MOST_UNKNOWN)

    assert poll(cache, session.id, 1, size=10 + MOST_UNKNOWN) is session


@pytest.mark.parametrize("size", [MOST_AT_ONCE, MOST_AT_ONCE + 1])
def test_fetch_without_a_session_adds_many_partitions_in_steps(size: int) -> None:
    session = poll(new_cache(), epoch=-1, size=size)
    now = len(session.partitions)

    whole(session.take_rest())

    assert now == (size if size == MOST_AT_ONCE else 0)
    assert len(session.dirty) == size
    assert (list(session.partitions), len(session.rest)) == (keys(size), 0)


def test_cache_returns_the_partitions_of_a_session() -> None:
    cache = new_cache()
    session = poll(cache, size=3)

    assert cache.keys_of(session.id) == keys(3)
    assert cache.keys_of(session.id + 1) == []
