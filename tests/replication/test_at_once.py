"""Fetches that are answered at once: as the long way does it, or not at all."""

from itertools import product

import pytest

from tests.replication.kit import batch, make_cold, open_cluster, state, want
from trio_kafka.replication.append import append
from trio_kafka.replication.at_once import FEW, read_at_once
from trio_kafka.replication.fetch import Fetch, FetchLimits, Reads
from trio_kafka.replication.read import Isolation
from trio_kafka.replication.sessions import Session

SIZE = len(batch())


async def filled(world):
    """Of `t`: 0 has three batches, 1 one, 2 none, 3 is led elsewhere."""
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1), 1: state(1), 2: state(1), 3: state(2, leader=2)})
    for number, count in ((0, 3), (1, 1)):
        for _ in range(count):
            append(cluster.replicas.partition("t", number), batch(), acks=1)
    return cluster


def told(reads: Reads | None) -> object:
    """Values to compare; gives the bytes back."""
    if reads is None:
        return None
    found = [
        (key, part.size, part.high_watermark, part.last_stable_offset, part.start_offset, part.more)
        for key, part in reads
    ]
    for _, part in reads:
        part.release()
    return found


def counts(cluster) -> list[tuple[int, int]]:
    partitions = [cluster.replicas.partition("t", number) for number in (0, 1, 2)]
    return [(one.traffic.fetches, one.traffic.bytes_out) for one in partitions]


async def test_it_gives_what_the_long_way_gives_and_counts_it_as_that_does(world) -> None:
    cluster, other = await filled(world), await filled(world.universe.machine("other"))
    given = 0
    for first, second, most, least in product(
        (0, 1, 3), (None, 0, 1), (1, SIZE, 2 * SIZE, 1 << 20), (0, 1, 2 * SIZE, 1 << 20)
    ):
        asks = {0: first, 1: second, 2: 0}
        wanted = {("t", n): want(offset, most) for n, offset in asks.items() if offset is not None}
        limits = FetchLimits(min_bytes=least, max_bytes=most * 2, may_wait=True)
        session = Session(uses_ids=False, attach=lambda *_: None, detach=lambda *_: None)
        session.update(wanted, [])
        long = Fetch(session, limits, other.replicas._resolve, full=True).look()
        before = counts(cluster)
        found = told(read_at_once(wanted, limits, cluster.replicas._resolve))

        if found is None:
            assert counts(cluster) == before
            assert long is None or not any(part.size for _, part in long.parts)
            told(None if long is None else long.parts)
            continue
        given += 1
        assert long is not None
        assert found == told(long.parts)
    assert given > 40


@pytest.mark.parametrize("isolation", [Isolation.READ_UNCOMMITTED, Isolation.READ_COMMITTED])
async def test_nobody_sees_what_is_not_committed(world, isolation) -> None:
    cluster = await filled(world)
    cluster.replicas.partition("t", 0).log.high_watermark = 1
    limits = FetchLimits(isolation=isolation)
    find = cluster.replicas._resolve

    assert told(read_at_once({("t", 0): want(1)}, limits, find)) is None
    ((_, size, committed, *_),) = told(read_at_once({("t", 0): want(0)}, limits, find))
    assert (size, committed) == (SIZE, 1)


async def test_what_is_not_that_simple_goes_the_long_way_and_leaves_nothing(world) -> None:
    cluster = await filled(world)
    find = cluster.replicas._resolve
    here = ("t", 0)

    def at_once(limits: FetchLimits | None = None, **wanted) -> object:
        asked = {here: want(0)} | wanted.pop("more", {})
        return told(read_at_once(asked, limits or FetchLimits(), find))

    before = counts(cluster)
    assert at_once(more={("t", 3): want(0)}) is None  # led elsewhere
    assert at_once(more={("u", 0): want(0)}) is None  # not there
    assert at_once(more={("t", 1): want(7)}) is None  # out of range
    assert at_once(more={("t", 1): want(0, leader_epoch=5)}) is None  # an unknown epoch
    assert at_once(FetchLimits(min_bytes=4 * SIZE)) is None
    assert at_once(FetchLimits(admit=lambda reads: 0)) is None
    assert at_once(FetchLimits(follower=2)) is None
    assert at_once(more={("t", n): want(0) for n in range(FEW + 1)}) is None
    make_cold(cluster.replicas.partition("t", 1))
    assert at_once(more={("t", 1): want(0)}) is None

    assert counts(cluster) == before
    assert not cluster.replicas.partition("t", 0).log.segments.active.file.leased
    assert at_once() is not None


async def test_others_are_let_in_while_many_partitions_are_read(world) -> None:
    """Before some of each; what they do is seen by those that are read afterwards."""
    cluster = await open_cluster(world)
    many = 100
    cluster.change(t={number: state(1) for number in range(many)})
    find = cluster.replicas._resolve
    first, last = find(("t", 0)), find(("t", many - 1))
    append(first, batch(), acks=1)
    calls = 0

    def between() -> None:
        nonlocal calls
        calls += 1
        for partition in first, last:
            append(partition, batch(), acks=1)

    wanted = {("t", number): want(0) for number in range(many)}
    reads = read_at_once(wanted, FetchLimits(), find, between)
    assert calls == 4
    sizes = [size for _, size, *_ in told(reads)]
    assert (sizes[0], sizes[-1], sum(map(bool, sizes))) == (2 * SIZE, 4 * SIZE, 2)

    few = dict(list(wanted.items())[:32])
    told(read_at_once(few, FetchLimits(), find, between))
    assert calls == 4

    cluster.replicas.let_in(between)
    told(cluster.replicas.begin_fetch(wanted, FetchLimits(), lambda answer: answer.parts))
    assert calls == 8


async def test_bytes_are_given_back_where_who_is_let_in_takes_a_partition_away(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={number: state(1) for number in range(40)})
    find = cluster.replicas._resolve
    append(find(("t", 0)), batch(), acks=1)
    log = find(("t", 0)).log
    calls = 0

    def between() -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            cluster.change(t={number: state(2, leader=2) for number in range(40)})

    wanted = {("t", number): want(0) for number in range(40)}
    assert read_at_once(wanted, FetchLimits(), find, between) is None
    assert calls == 2
    assert not log.segments.active.file.leased
