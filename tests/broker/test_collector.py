import gc

import pytest

from trio_kafka.broker.collector import (
    FEW,
    LOOKS,
    SPARE,
    SPARE_SHARE,
    THAW_OBJECT_S,
    THAW_S,
    TIMES,
    Collector,
    long_lived_frozen,
)

YOUNGEST, OLDEST = 0, 2


@pytest.fixture(autouse=True)
def _as_before():
    yield
    gc.unfreeze()


def look(collector: Collector, generation: int = YOUNGEST, *, collected: int = 0) -> None:
    collector.observe("start", {"generation": generation})
    collector.observe("stop", {"generation": generation, "collected": collected})


def collector() -> Collector:
    """All that there was is frozen."""
    made = Collector(lambda: 0.0)
    made.freeze()
    gc.unfreeze()
    return made


@pytest.mark.parametrize("generation", [0, 1, 2])
def test_what_survives_a_look_that_found_nothing_is_frozen(generation: int) -> None:
    look(collector(), generation, collected=FEW)

    assert gc.get_freeze_count() > 1000


@pytest.mark.parametrize("generation", [0, 1, 2])
def test_where_cycles_are_made_nothing_is_frozen(generation: int) -> None:
    """What is with them may be garbage soon."""
    look(collector(), generation, collected=FEW + 1)

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


@pytest.fixture
def _no_looks():
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_no_looks")
def test_what_grows_and_grows_is_looked_at_again_but_not_at_once() -> None:
    clock = Clock()
    with long_lived_frozen(clock.elapsed) as collector:
        spare = int(gc.get_freeze_count() * SPARE_SHARE) + SPARE
        kept: list[list[object]] = []

        def grow(count: int, pass_s: float) -> tuple[int, int]:
            kept.extend([] for _ in range(count))
            clock.now += pass_s
            collector.freeze()
            return collector.freezes, collector.thaws

        # Other tests of this process may have left a million objects, some of which go meanwhile.
        step, little = spare // TIMES * 3 // 2, spare // TIMES // 2
        long_s = max(THAW_S, gc.get_freeze_count() * THAW_OBJECT_S) + 5
        short_s = long_s - 10  # twice that is long
        assert grow(10 * spare, long_s) == (2, 0)  # once, as by a load
        assert grow(0, long_s) == (3, 0)
        assert grow(little, long_s) == (4, 0)
        assert grow(step, long_s) == (5, 0)
        assert grow(step, long_s) == (6, 0)
        assert grow(step, short_s) == (7, 0)
        assert grow(step, short_s) == (8, 0)
        assert grow(step, long_s) == (9, 0)
        assert grow(step, long_s) == (9, 1)
        assert gc.get_freeze_count() == 0

        look(collector, YOUNGEST)
        assert gc.get_freeze_count() == 0
        look(collector, OLDEST, collected=1000)  # the look at everything is over
        assert collector.freezes == 10
        assert gc.get_freeze_count() > len(kept)
        assert grow(step, long_s) == (11, 1)


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

    # What is there after a look at everything has one generation in it, what is spared is seen when
    # it is exceeded, in the time of so many looks, and by the look thereafter.
    bound = (first + each) * SPARE_SHARE + SPARE + (TIMES + 3) * each
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
    assert max(seen) < LOOKS[0] + 1000


def test_the_tree_shows_looks_and_what_was_garbage() -> None:
    made = collector()
    gc.collect()
    before = made.figures()

    cycles(5)
    gc.collect()
    look(made)

    after = made.figures()
    assert {name: after[name] - before[name] for name in after} == {
        "looks": 1,
        "collected": 5,
        "freezes": 1,
        "thaws": 0,
    }
