from itertools import count

import pytest

from tests.replication.kit import want
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.replication.session_cache import SessionCache
from trio_kafka.replication.sessions import FetchKey, Session


def new_cache(slots: int = 2) -> SessionCache:
    ids = count(101)
    ignore = lambda key, session: None  # noqa: E731 - nothing to watch
    return SessionCache(slots, lambda low, high: next(ids), ignore, ignore)


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


def test_a_first_poll_begins_a_session_whose_next_epoch_is_one() -> None:
    cache = new_cache()

    session = poll(cache, size=3)

    assert (session.id, session.epoch, len(session.partitions)) == (101, 1, 3)
    assert len(cache) == 1


def test_each_poll_has_the_next_epoch() -> None:
    cache = new_cache()
    session = poll(cache)

    assert poll(cache, session.id, 1, size=0) is session
    assert session.epoch == 2
    assert refused(cache, session.id, 1) is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert refused(cache, session.id, 3) is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert poll(cache, session.id, 2) is session


def test_an_unknown_session_is_not_found() -> None:
    assert refused(new_cache(), 77, 1) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_session_names_topics_in_one_way_only() -> None:
    cache = new_cache()
    session = poll(cache, uses_ids=True)

    code = refused(cache, session.id, 1, uses_ids=False)

    assert code is ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    assert session.epoch == 1


@pytest.mark.parametrize("epoch", [0, -1])
def test_a_full_poll_ends_the_session_that_it_names(epoch: int) -> None:
    cache = new_cache()
    old = poll(cache)

    new = poll(cache, old.id, epoch)

    assert not old.partitions
    assert (new.id == 0) == (epoch == -1)
    assert refused(cache, old.id, 1) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_session_without_partitions_ends() -> None:
    cache = new_cache()
    session = poll(cache)

    left = poll(cache, session.id, 1, size=0, forget=keys())

    assert (left.id, len(left.partitions), len(cache)) == (0, 0, 0)


def test_without_a_free_place_a_poll_is_for_itself() -> None:
    cache = new_cache(1)
    poll(cache)

    assert poll(cache, size=5, now=1.0).id == 0
    assert len(cache) == 1


def test_without_places_every_poll_is_for_itself() -> None:
    assert poll(new_cache(0)).id == 0


def test_a_session_that_is_not_used_for_two_minutes_gives_its_place() -> None:
    cache = new_cache(2)
    first, second = poll(cache), poll(cache)
    poll(cache, first.id, 1, now=60.0)

    assert poll(cache, now=120.0).id == 0
    assert poll(cache, now=121.0).id == 103
    assert not second.partitions
    assert first.partitions
    assert cache.evictions == 1


def test_an_old_session_gives_way_to_one_of_as_many_partitions() -> None:
    cache = new_cache(1)
    old = poll(cache, size=5)
    poll(cache, old.id, 1, size=0, now=100.0)
    poll(cache, old.id, 2, size=0, now=121.0)

    assert poll(cache, size=4, now=122.0).id == 0
    assert poll(cache, size=6, now=122.0).id == 102


def test_a_follower_takes_a_young_consumers_place_and_never_gives_its_own() -> None:
    cache = new_cache(1)
    poll(cache, size=50)

    follower = poll(cache, privileged=True, now=1.0)

    assert follower.id == 102
    assert poll(cache, size=50, now=2.0).id == 0
    assert poll(cache, size=50, privileged=True, now=2.0).id == 0


def test_the_smallest_of_those_that_may_go_goes() -> None:
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
        "partitions": 3,
        "dirty": 3,
        "evictions": 0,
    }
