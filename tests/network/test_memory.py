"""A pool of memory, against a model: what is free, who waits, and for how long."""

import pytest
from attrs import define
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.network.memory import MemoryPool

pytestmark = pytest.mark.leaves("its frames end with the test")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@define(eq=False)
class Taker:
    needed_bytes: int
    has: bool = False

    def granted(self) -> None:
        self.has = True


def waiting(pool: MemoryPool, *sizes: int) -> tuple[list[Taker], list[int]]:
    """Takers that wait, and the order in which they are told."""
    takers, order = [Taker(size) for size in sizes], list[int]()
    for number, taker in enumerate(takers):
        pool.wait(taker, lambda number=number: order.append(number))  # type: ignore[misc]
    return takers, order


def test_the_pool_grants_any_size_while_some_memory_is_free() -> None:
    pool = MemoryPool(100, Clock())

    assert [pool.take(99), pool.take(500), pool.take(1)] == [True, True, False]
    assert (pool.free, pool.least) == (-499, -499)

    pool.give(500)
    assert pool.take(1)
    assert not pool.take(1)
    pool.give(1)
    pool.give(99)
    assert pool.free == 100


def test_returned_memory_is_granted_to_waiters_in_order() -> None:
    pool = MemoryPool(100, Clock())
    assert pool.take(100)
    takers, order = waiting(pool, 1000, 1, 1)
    pool.give(50)
    assert order == [0]  # though all of it would do for the others
    assert pool.free == -950
    pool.give(50)
    assert order == [0]

    pool.give(1000)

    assert order == [0, 1, 2]
    assert all(taker.has for taker in takers)
    assert pool.free == 98


def test_a_taker_does_not_overtake_waiters() -> None:
    pool = MemoryPool(10, Clock())
    assert pool.take(10)
    waiting(pool, 20)

    pool.give(10)

    assert not pool.take(1)


def test_a_forgotten_waiter_is_not_granted_memory() -> None:
    pool = MemoryPool(10, Clock())
    assert pool.take(10)
    takers, order = waiting(pool, 5, 5)
    pool.forget(takers[0])
    pool.forget(takers[0])

    pool.give(10)

    assert order == [1]
    assert not takers[0].has


def test_the_pool_counts_depleted_time_only_while_a_taker_waits() -> None:
    clock = Clock()
    pool = MemoryPool(10, clock)
    pool.take(10)
    clock.now = 5.0
    assert pool.depleted == 0  # nobody asked

    takers, _ = waiting(pool, 5)
    clock.now = 7.0
    assert pool.figures()["depleted"] == 1
    pool.give(10)
    clock.now = 100.0
    pool.give(5)
    assert pool.depleted_s == 2.0

    pool.take(10)
    takers, _ = waiting(pool, 5)
    clock.now = 101.0
    pool.forget(takers[0])

    figures = pool.figures()
    assert figures["depleted"] == 2
    assert figures["MemoryPoolDepletedTimeTotal"] == 3000.0


def test_memory_pool_metrics_have_the_names_and_values_of_kafka() -> None:
    clock = Clock()
    pool = MemoryPool(100, clock)
    pool.take(130)
    takers, _ = waiting(pool, 5)
    assert len(pool) == 1

    assert pool.figures() == {
        "size": 100,
        "MemoryPoolAvailable": -30,
        "MemoryPoolUsed": 130,
        "MemoryPoolAvgDepletedPercent": 0.0,
        "MemoryPoolDepletedTimeTotal": 0.0,
        "least": -30,
        "depleted": 1,
        "waiting": 1,
    }
    clock.now = 3.0
    pool.forget(takers[0])
    # 3 s of the 30 s that Kafka counts as gone by.
    assert pool.figures()["MemoryPoolAvgDepletedPercent"] == pytest.approx(0.1)


@given(
    st.integers(1, 100),
    st.lists(st.tuples(st.booleans(), st.integers(1, 150), st.integers(0, 9)), max_size=60),
)
def test_the_pool_behaves_as_a_simple_model_for_any_steps(
    size: int, steps: list[tuple[bool, int, int]]
) -> None:
    pool = MemoryPool(size, Clock())
    held: list[int] = []
    line: list[Taker] = []
    for takes, amount, which in steps:
        if takes:
            taker = Taker(amount)
            if pool.take(amount):
                assert not line
                held.append(amount)
            else:
                pool.wait(taker, lambda: None)
                line.append(taker)
        elif which % 3 == 0 and line:
            pool.forget(line.pop(which % len(line)))
        elif held:
            pool.give(held.pop(which % len(held)))
            while line and size - sum(held) > 0:
                first = line.pop(0)
                assert first.has
                held.append(first.needed_bytes)

        assert pool.free == size - sum(held)
        assert len(pool) == len(line)
        assert not any(taker.has for taker in line)
        assert not line or pool.free <= 0
        assert pool.least >= 1 - 150
