"""Where new partitions go."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.controller.placement import UsableBroker, place
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import NodeId


def brokers(*racks: str | None, fenced: tuple[int, ...] = ()) -> list[UsableBroker]:
    return [
        UsableBroker(id=NodeId(n), rack=rack, active=n not in fenced)
        for n, rack in enumerate(racks)
    ]


def test_leaders_and_followers_are_spread_evenly_over_brokers() -> None:
    placed = place(brokers(None, None, None), 9, factor=2, choose=Random(3).randrange)

    assert Counter(replicas[0] for replicas in placed) == {0: 3, 1: 3, 2: 3}
    assert Counter(replicas[1] for replicas in placed) == {0: 3, 1: 3, 2: 3}


def test_replicas_of_a_partition_are_on_different_racks() -> None:
    placed = place(brokers("a", "a", "b", "b", "c"), 12, factor=3, choose=Random(3).randrange)

    racks = "aabbc"
    assert all({racks[node] for node in replicas} == set("abc") for replicas in placed)


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), min_size=1, max_size=8),
    st.integers(1, 20),
    st.integers(1, 8),
    st.integers(),
)
def test_replicas_are_distinct_and_an_active_broker_is_the_leader(
    nodes: list[tuple[str, bool]], partitions: int, factor: int, seed: int
) -> None:
    usable_brokers = [
        UsableBroker(id=NodeId(n), rack=rack, active=up) for n, (rack, up) in enumerate(nodes)
    ]
    if factor > len(usable_brokers) or not any(up for _, up in nodes):
        with pytest.raises(KafkaError) as caught:
            place(usable_brokers, partitions, factor=factor, choose=Random(seed).randrange)
        assert caught.value.code is ErrorCode.INVALID_REPLICATION_FACTOR
        return

    placed = place(usable_brokers, partitions, factor=factor, choose=Random(seed).randrange)

    assert len(placed) == partitions
    for replicas in placed:
        assert len(set(replicas)) == len(replicas) == factor
        ups = [nodes[node][1] for node in replicas]
        assert ups[0]
        assert ups == sorted(ups, reverse=True)


def test_the_same_seed_gives_the_same_placement() -> None:
    cluster = brokers("a", "b", "c", None)

    assert place(cluster, 5, factor=2, choose=Random(7).randrange) == place(
        cluster, 5, factor=2, choose=Random(7).randrange
    )
