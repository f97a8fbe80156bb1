"""Memory of the producer: first come, first served, and nothing is lost."""

from functools import partial

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from trio_kafka.clients.producer.buffer_pool import BufferPool, MemoryWait


def test_large_wait_at_the_head_is_not_overtaken():
    pool = BufferPool(100)
    granted: list[str] = []
    assert pool.try_take(80)
    large = pool.wait(90, lambda: granted.append("large"))
    small = pool.wait(10, lambda: granted.append("small"))

    assert not pool.try_take(1)
    assert (granted, pool.waiting) == ([], 2)
    pool.give_back(80)
    assert granted == ["large", "small"]
    assert (large.granted, small.granted, pool.free) == (True, True, 0)
    pool.give_back(100)


def test_withdrawn_wait_lets_the_next_one_in():
    pool = BufferPool(100)
    pool.try_take(80)
    granted: list[str] = []
    large = pool.wait(90, lambda: granted.append("large"))
    pool.wait(10, lambda: granted.append("small"))

    pool.withdraw(large)

    assert granted == ["small"]
    pool.give_back(90)


def test_wait_that_was_granted_gives_its_memory_back_when_withdrawn():
    pool = BufferPool(100)
    wait = pool.wait(40, lambda: None)

    assert wait.granted
    pool.withdraw(wait)
    assert pool.free == 100


def test_more_than_there_is_can_neither_be_waited_for_nor_given_back():
    pool = BufferPool(100)
    with pytest.raises(ValueError, match="101 bytes of a memory of 100"):
        pool.wait(101, lambda: None)
    pool.try_take(1)
    with pytest.raises(ValueError, match="101 bytes free of 100"):
        pool.give_back(2)
    pool.free = 100


sizes = st.sampled_from([10, 30, 60, 90])


class PoolModel(RuleBasedStateMachine):
    """Takes, waits, withdrawals and returns in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.pool = BufferPool(100)
        self.taken: list[int] = []
        self.waits: list[MemoryWait] = []
        self.granted: list[MemoryWait] = []  # and not used yet
        self.calls: list[int] = []  # waits that were granted later, by their numbers
        self.count = 0

    @rule(size=sizes)
    def take(self, size: int) -> None:
        fits = size <= 100 - self._used() and not self.waits
        assert self.pool.try_take(size) == fits
        if fits:
            self.taken.append(size)

    @rule(size=sizes)
    def wait(self, size: int) -> None:
        fits = size <= 100 - self._used() and not self.waits
        self.count += 1
        wait = self.pool.wait(size, partial(self.calls.append, self.count))
        assert wait.granted == fits
        self.waits.append(wait)
        self._collect()

    @rule(number=st.integers(0, 9), is_used=st.booleans())
    def use_or_cancel_what_was_granted(self, number: int, is_used: bool) -> None:
        if self.granted:
            wait = self.granted.pop(number % len(self.granted))
            if is_used:
                self.taken.append(wait.size)
            else:
                self.pool.withdraw(wait)
                self._collect()

    @rule(number=st.integers(0, 9))
    def withdraw(self, number: int) -> None:
        if self.waits:
            self.pool.withdraw(self.waits.pop(number % len(self.waits)))
            self._collect()

    @rule(number=st.integers(0, 9))
    def give_back(self, number: int) -> None:
        if self.taken:
            self.pool.give_back(self.taken.pop(number % len(self.taken)))
            self._collect()

    def _collect(self) -> None:
        """Waits are granted in their order."""
        while self.waits and self.waits[0].granted:
            self.granted.append(self.waits.pop(0))
        assert not any(wait.granted for wait in self.waits)

    def _used(self) -> int:
        return sum(self.taken) + sum(wait.size for wait in self.granted)

    @invariant()
    def is_consistent(self) -> None:
        assert 0 <= self.pool.free == 100 - self._used()
        assert self.calls == sorted(set(self.calls))
        assert self.pool.waiting == len(self.waits)
        assert not self.waits or self.waits[0].size > self.pool.free

    def teardown(self) -> None:
        while self.waits:
            self.withdraw(0)
        while self.granted:
            self.use_or_cancel_what_was_granted(0, is_used=False)
        while self.taken:
            self.give_back(0)
        assert self.pool.free == 100


PoolModel.TestCase.settings = settings(stateful_step_count=30)
test_any_order_of_takes_waits_and_returns = PoolModel.TestCase
