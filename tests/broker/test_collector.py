import gc

import pytest

from trio_kafka.broker.collector import (
    LONG_S,
    LOOKS,
    SPARE,
    SPARE_SHARE,
    THAW_OBJECT_S,
    THAW_S,
    Collector,
    long_lived_frozen,
)

OLDEST = {"generation": 2}


@pytest.fixture(autouse=True)
def _as_before():
    yield
    gc.unfreeze()


def look(collector: Collector, generation: int = 2) -> None:
    collector.observe("start", {"generation": generation})
    collector.observe("stop", {"generation": generation})


def collector_with(took_s: float) -> Collector:
    """Each look takes so long."""
    times = iter(number * took_s for number in range(10_000))
    return Collector(lambda: next(times))


def test_what_survives_a_long_look_is_frozen() -> None:
    look(collector_with(LONG_S * 1.1))

    assert gc.get_freeze_count() > 1000


@pytest.mark.parametrize(("took_s", "generation"), [(LONG_S / 2, 2), (LONG_S * 9, 1)])
def test_short_looks_and_young_generations_freeze_nothing(took_s: float, generation: int) -> None:
    look(collector_with(took_s), generation)

    assert gc.get_freeze_count() == 0


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def elapsed(self) -> float:
        return self.now


def cycles(count: int) -> list[list[object]]:
    made: list[list[object]] = []
    for _ in range(count):
        cycle: list[object] = []
        cycle.append(cycle)
        made.append(cycle)
    return made


def test_what_has_grown_is_looked_at_again_but_not_at_once() -> None:
    clock = Clock()
    with long_lived_frozen(clock.elapsed) as collector:
        gc.disable()
        try:
            kept = cycles(int(gc.get_freeze_count() * SPARE_SHARE) + SPARE + 1000)
            collector.freeze()
            clock.now += THAW_S - 1
            collector.freeze()
            assert (collector.freezes, collector.thaws) == (3, 0)

            clock.now += gc.get_freeze_count() * THAW_OBJECT_S + 1
            kept += cycles(10)
            collector.freeze()
            assert (collector.freezes, collector.thaws) == (3, 1)
            assert gc.get_freeze_count() == 0
            collector.freeze()  # the look at everything is over
            assert gc.get_freeze_count() > len(kept)

            clock.now += gc.get_freeze_count() * THAW_OBJECT_S + THAW_S
            collector.freeze()  # nothing more has come since
            assert (collector.freezes, collector.thaws) == (5, 1)
        finally:
            gc.enable()


def test_garbage_that_was_frozen_is_bounded() -> None:
    """As generations of a plugin: each is frozen while it lives, and is a cycle when it goes."""
    clock, most = Clock(), 0
    with long_lived_frozen(clock.elapsed) as collector:
        first = gc.get_freeze_count()
        each = max(5_000, first // 20)  # other tests of this process may have left much
        for _ in range(40):
            generation = cycles(each)
            gc.collect()
            collector.freeze()
            del generation
            most = max(most, gc.get_freeze_count())
            clock.now += THAW_S + most * THAW_OBJECT_S
        assert collector.thaws > 1

    # What is there after a look at everything has one generation in it, and what comes two more.
    bound = (first + each) * SPARE_SHARE + SPARE + 3 * each
    assert most - first < bound
    assert bound < 30 * each  # of what came, for the test's worth


def test_a_block_has_its_objects_frozen_and_the_collector_is_as_before() -> None:
    before, thresholds = list(gc.callbacks), gc.get_threshold()

    with long_lived_frozen(lambda: 0.0) as collector:
        assert gc.get_freeze_count() > 1000
        assert gc.callbacks == [*before, collector.observe]
        assert gc.get_threshold() == LOOKS

    assert gc.callbacks == before
    assert gc.get_threshold() == thresholds
    assert gc.get_freeze_count() == 0


def test_no_look_sees_much_while_many_objects_are_made() -> None:
    seen: list[int] = []
    counts = iter(range(10**9))

    def count(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and info["generation"] == 2:
            seen.append(sum(len(gc.get_objects(generation)) for generation in range(3)))

    with long_lived_frozen(lambda: next(counts)):
        gc.callbacks.append(count)
        try:
            kept = [[number] for number in range(300_000)]
        finally:
            gc.callbacks.remove(count)

    assert len(kept) == 300_000
    assert len(seen) > 10
    assert max(seen) < 25_000


def test_the_tree_shows_looks_and_what_was_garbage() -> None:
    collector = collector_with(LONG_S * 2)
    gc.collect()
    before = collector.figures()

    for _ in range(5):
        cycle: list[object] = []
        cycle.append(cycle)
    del cycle
    gc.collect()
    look(collector)

    after = collector.figures()
    assert {name: after[name] - before[name] for name in after} == {
        "looks": 1,
        "collected": 5,
        "freezes": 1,
        "thaws": 0,
    }
