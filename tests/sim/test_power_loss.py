"""A whole broker that loses its power again and again, and clients that remember.

With flush.messages=1 an answer means: durable. What a seed does is in `lives`, what must hold then
in `ledger`.
"""

from collections.abc import Callable

import pytest
import trio

from tests.lanes import Seeds
from tests.sim.ledger import Ledger
from tests.sim.lives import CLEANER, SETTINGS, live_and_die, live_with_all
from trio_kafka.log.log import Log
from trio_kafka.log.segment import Segment
from trio_kafka.testing.simulate import Simulation, run_seed
from trio_kafka.world.simulated.file import SimulatedFile
from trio_kafka.world.simulated.storage import SimulatedDirectory

Size = Callable[[int, int], int]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def run_lives(seed: int) -> Ledger:
    return run_seed(live_and_die, seed, settings=SETTINGS)


def test_acknowledged_records_survive_every_power_loss(seeds: Seeds, size: Size) -> None:
    ledgers = [run_lives(seed) for seed in seeds(1, 50)]

    count = len(ledgers)
    # One seed alone may lose its power early in every life but the last ones.
    assert sum(ledger.acknowledged for ledger in ledgers) > size(20, 100) * count
    assert sum(ledger.deleted for ledger in ledgers) > size(0, count)


@pytest.mark.timeout(3000)  # of the long form
def test_records_survive_power_losses_during_compaction_deletions_and_moves(
    seeds: Seeds, size: Size
) -> None:
    ledgers = [run_seed(live_with_all, seed, settings=SETTINGS | CLEANER) for seed in seeds(1, 200)]

    count = len(ledgers)
    acknowledged = sum(ledger.acknowledged for ledger in ledgers)
    cut, moved = sum(ledger.cut for ledger in ledgers), sum(ledger.moved for ledger in ledgers)
    print(f"{acknowledged} records, {cut} deletions of records, {moved} moves, {count} seeds")
    assert acknowledged > size(20, 100) * count
    assert sum(ledger.compacted for ledger in ledgers) > size(0, 10) * count
    assert cut > size(0, count)
    assert moved > size(0, count)


def test_runs_with_the_same_seed_have_the_same_trace() -> None:
    async def trace(sim: Simulation) -> tuple[int, int]:
        await live_and_die(sim, lives=1)
        return sim.universe.digest, len(sim.universe.trace)

    first, second = (run_seed(trace, 3, settings=SETTINGS) for _ in range(2))

    assert first == second


def forget_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sync of a file of batches does nothing."""
    sync = SimulatedFile.sync

    async def sync_others(file: SimulatedFile) -> None:
        await (trio.sleep(0.01) if is_batches(file._path) else sync(file))

    monkeypatch.setattr(SimulatedFile, "sync", sync_others)


def forget_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sync of a partition's directory does nothing."""
    sync = SimulatedDirectory.sync

    async def sync_others(directory: SimulatedDirectory) -> None:
        is_partition = directory.path.count("/") == 2 and "metadata" not in directory.path
        await (trio.sleep(0.01) if is_partition else sync(directory))

    monkeypatch.setattr(SimulatedDirectory, "sync", sync_others)


def forget_sealed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the active segment is synced."""

    async def sync_nothing(segment: Segment) -> None:
        await trio.sleep(0.01)

    monkeypatch.setattr(Segment, "sync", sync_nothing)


def answer_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sync is asked for, and nobody waits for it."""

    def commit(log: Log) -> None:
        log.high_watermark = log.end_offset

    monkeypatch.setattr(Log, "durable_end", property(lambda log: log.end_offset))
    monkeypatch.setattr(Log, "commit_own", commit)


def is_batches(path: str) -> bool:
    return path.endswith(".log") and "metadata" not in path


def breaks_its_word(seed: int) -> bool:
    try:
        run_lives(seed)
    except Exception:
        return True
    return False


@pytest.mark.parametrize(
    ("plant", "least"),
    [(forget_file, 45), (forget_directory, 45), (forget_sealed, 5), (answer_early, 45)],
)
def test_a_missing_sync_is_detected_by_power_loss_runs(
    plant: Callable[[pytest.MonkeyPatch], None],
    least: int,
    monkeypatch: pytest.MonkeyPatch,
    size: Size,
) -> None:
    """least: of 50 seeds; that few find it says that the test has become blind, or the plant."""
    plant(monkeypatch)
    result, seeds = 0, size(40, 50)

    for seed in range(seeds):
        result += breaks_its_word(seed)
        if result and seeds < 50:
            break  # once is enough to hold the test; the long form counts

    print(f"{plant.__name__}: found by {result} of {seed + 1} seeds")
    assert result >= (least if seeds == 50 else 1)
