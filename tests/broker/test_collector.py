import gc

import pytest

from trio_kafka.broker.collector import FREEZES, LONG_S, LOOKS, Collector, long_lived_frozen

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


def test_after_many_times_all_are_looked_at_again() -> None:
    collector = collector_with(LONG_S * 2)
    for _ in range(FREEZES):
        look(collector)
    frozen = [gc.get_freeze_count() > 0]  # to ask is a walk over all of them
    for _ in range(2):
        look(collector)
        frozen.append(gc.get_freeze_count() > 0)

    assert frozen == [True, False, True]


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
    }
