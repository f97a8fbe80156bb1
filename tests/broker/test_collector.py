import gc

import pytest

from trio_kafka.broker.collector import (
    COUNT_S,
    GROWTH,
    SCANS,
    SPARE,
    Collector,
    long_lived_frozen,
)
from trio_kafka.scheduling.lasting_objects import LastingGrowth

YOUNGEST, OLDEST = 0, 2
GENERATIONS = 20


@pytest.fixture(autouse=True)
def _as_before():
    yield
    gc.unfreeze()


def look(collector: Collector, generation: int = YOUNGEST, *, collected: int = 0) -> None:
    collector.observe("start", {"generation": generation})
    collector.observe("stop", {"generation": generation, "collected": collected})


def collector() -> Collector:
    """All that there was is frozen."""
    gc_collector = Collector(lambda: 0.0)
    gc_collector.freeze()
    gc.unfreeze()
    return gc_collector


@pytest.mark.parametrize("generation", [0, 1, 2])
def test_objects_that_survive_a_full_collection_are_frozen(generation: int) -> None:
    look(collector(), generation, collected=1000)

    assert gc.get_freeze_count() > 1000


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def elapsed(self) -> float:
        return self.now


def cycles(count: int) -> list[list[object]]:
    result: list[list[object]] = []
    for _ in range(count):
        cycle: list[object] = []
        cycle.append(cycle)
        result.append(cycle)
    return result


@pytest.fixture
def _no_looks():
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_no_looks")
def test_frozen_objects_are_unfrozen_after_doubling_and_frozen_after_the_next_scan() -> None:
    clock = Clock()
    with long_lived_frozen(clock.elapsed) as collector:
        kept: list[list[object]] = []
        first = gc.get_freeze_count()

        def grow(count: int, pass_s: float) -> tuple[int, int]:
            kept.extend([] for _ in range(count))
            clock.now += pass_s
            collector.freeze()
            return collector.freezes, collector.thaws

        bound = int(first * (GROWTH - 1)) + SPARE
        # Other tests of this process may have left objects, some of which go meanwhile.
        assert grow(bound // 2, COUNT_S) == (2, 0)
        assert grow(bound, COUNT_S - 1) == (3, 0)  # it is not counted yet
        assert grow(0, 1) == (4, 1)
        assert gc.get_freeze_count() == 0

        look(collector, YOUNGEST)
        assert gc.get_freeze_count() == 0
        look(collector, OLDEST, collected=1000)  # the scan of everything is over
        assert collector.freezes == 5
        assert gc.get_freeze_count() > len(kept)
        assert grow(bound, COUNT_S) == (6, 1)  # more live now


@pytest.mark.usefixtures("_no_looks")
@pytest.mark.parametrize("is_over", [False, True])
def test_growth_by_an_announced_load_is_not_scanned(is_over: bool) -> None:
    clock, growth, kept = Clock(), LastingGrowth(), list[list[object]]()
    collector = Collector(clock.elapsed, growth)
    collector.freeze()
    bound = int(gc.get_freeze_count() * (GROWTH - 1)) + SPARE

    def count_after(grown: int) -> int:
        kept.extend([] for _ in range(grown))
        clock.now += COUNT_S
        collector.freeze()
        return collector.thaws

    with growth.announced():
        if not is_over:
            assert count_after(2 * bound) == 0
    assert count_after(2 * bound) == 0  # the load has ended since the last count
    assert count_after(bound) == 0  # less than double by now
    assert count_after(20 * bound) == 1


def test_amount_of_frozen_garbage_is_bounded() -> None:
    """As generations of a plugin: each is frozen while it lives, and is a cycle when it goes."""
    clock, most = Clock(), 0
    with long_lived_frozen(clock.elapsed) as collector:
        first = gc.get_freeze_count()
        each = max(5_000, first // 5)  # other tests of this process may have left much
        for _ in range(GENERATIONS):
            generation = cycles(each)
            gc.collect()
            del generation
            most = max(most, gc.get_freeze_count())
            clock.now += COUNT_S
        assert collector.thaws > 1

    # A full scan leaves one generation; one more is there when the growth is seen.
    bound = (first + each) * GROWTH + SPARE + 2 * each
    assert most < bound
    assert bound - first < GENERATIONS * each  # the bound is below what came


def test_block_freezes_its_objects_and_restores_the_collector_at_the_end() -> None:
    before, thresholds = list(gc.callbacks), gc.get_threshold()

    with long_lived_frozen(lambda: 0.0) as collector:
        assert gc.get_freeze_count() > 1000
        assert gc.callbacks == [*before, collector.observe]
        assert gc.get_threshold() == SCANS

    assert gc.callbacks == before
    assert gc.get_threshold() == thresholds
    assert gc.get_freeze_count() == 0


def test_collections_see_few_objects_while_many_objects_are_created() -> None:
    seen: list[int] = []

    def count(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            seen.append(sum(len(gc.get_objects(number)) for number in range(3)))

    with long_lived_frozen(lambda: 0.0):
        gc.callbacks.append(count)
        try:
            kept = [[number] for number in range(100_000)]
        finally:
            gc.callbacks.remove(count)

    assert len(kept) == 100_000
    assert len(seen) > 40
    assert max(seen) < SCANS[0] + 1000


def test_tree_shows_collections_and_collected_garbage() -> None:
    gc_collector = collector()
    gc.collect()
    before = gc_collector.figures()

    cycles(5)
    gc.collect()
    look(gc_collector)

    after = gc_collector.figures()
    assert {name: after[name] - before[name] for name in after} == {
        "looks": 1,
        "collected": 5,
        "freezes": 1,
        "thaws": 0,
    }
