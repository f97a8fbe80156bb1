"""Committed offsets outlive power losses: nothing that anybody was told goes back."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pytest

from tests.sim.committers import Committers, LostOffsetError
from tests.sim.lives import SETTINGS, count_queued, live_on, stall_now_and_then
from trio_kafka.attributes import frozen
from trio_kafka.coordinators.shards.batch_accumulator import BatchAccumulator
from trio_kafka.coordinators.shards.effects import Effects
from trio_kafka.coordinators.shards.partition_log import PartitionLog
from trio_kafka.testing.simulate import Simulation, run_seed

Size = Callable[[int, int], int]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
FEW: Final = {"offsets.topic.num.partitions": "3"}
ONE_PARTITION: Final = {"offsets.topic.num.partitions": "1", "num.network.threads": "1"}


@frozen(kw_only=True)
class Kind:
    """Kind of run. stalls: appends queue. linger: batches of what comes within 5 ms.

    rounds: many commit at once, so that a reader finds several together.
    """

    stalls: bool = False
    linger: bool = False
    rounds: bool = False

    @property
    def settings(self) -> dict[str, str]:
        linger_ms = "5" if self.linger else "-1"
        few = ONE_PARTITION if self.rounds else FEW
        return {**SETTINGS, **few, "group.coordinator.append.linger.ms": linger_ms}


async def live_and_commit(sim: Simulation, kind: Kind) -> int:
    """Lives of a broker whose clients commit offsets. Return how many were acknowledged."""
    how: dict[str, Any] = {}
    if kind.stalls:
        stall_now_and_then(sim.universe)
    if kind.rounds:
        sim.universe.latency = 0.0
        how = {"count": 8, "pause_s": 0.01, "beat_s": 0.005}
    chance = sim.universe.chance("clients")
    clients = Committers(world=sim.clients, chance=chance, address=sim.lives.address, **how)
    await live_on(sim, clients)
    return clients.acknowledged


PLAIN: Final = Kind()


def run(seed: int, kind: Kind = PLAIN) -> int:
    return run_seed(partial(live_and_commit, kind=kind), seed, settings=kind.settings)


def test_committed_offsets_survive_every_power_loss(size: Size) -> None:
    seeds = size(1, 50)

    assert sum(run(seed) for seed in range(seeds)) > 100 * seeds


def test_committed_offsets_survive_power_losses_with_a_slow_disk(
    size: Size, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds, queued = size(1, 50), count_queued(monkeypatch)

    assert sum(run(seed, Kind(stalls=True)) for seed in range(seeds)) > 50 * seeds
    assert sum(queued) > 20 * seeds


def test_committed_offsets_batched_by_linger_survive_power_losses(
    size: Size, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds, sizes = size(1, 50), count_gathered(monkeypatch)

    for stalls in (False, True):
        kind = Kind(linger=True, stalls=stalls)
        assert sum(run(seed, kind) for seed in range(seeds)) > 50 * seeds
    assert sum(1 for size in sizes if size > 1) > 10 * seeds


@pytest.mark.parametrize(("stalls", "least"), [(False, 20), (True, 3)])
def test_committed_offsets_batched_by_round_survive_power_losses(
    size: Size, monkeypatch: pytest.MonkeyPatch, stalls: bool, least: int
) -> None:
    """least: batches of several, of each seed: there are few while a disk is slow."""
    seeds, sizes = size(1, 50), count_gathered(monkeypatch)

    kind = Kind(rounds=True, stalls=stalls)
    assert sum(run(seed, kind) for seed in range(seeds)) > 100 * seeds
    assert sum(1 for size in sizes if size > 1) > least * seeds


def count_gathered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many events each batch has that is written from now on."""
    write, sizes = BatchAccumulator.write, []

    def count(gathering: BatchAccumulator, now_ms: int) -> Any:
        sizes.append(len(gathering.effects))
        return write(gathering, now_ms)

    monkeypatch.setattr(BatchAccumulator, "write", count)
    return sizes


@pytest.mark.parametrize("kind", [Kind(linger=True), Kind(rounds=True)])
def test_an_answer_given_before_its_batch_is_written_is_detected_as_lost_offset(
    monkeypatch: pytest.MonkeyPatch, kind: Kind
) -> None:
    """Before its batch is written."""
    add = BatchAccumulator.add

    def tell(gathering: BatchAccumulator, effects: Effects, now_ms: int) -> bool:
        early, effects.answers = effects.answers, []
        added = add(gathering, effects, now_ms)
        if not added:
            effects.answers = early
        for ticket, value in early if added else ():
            ticket.give(value)
        return added

    monkeypatch.setattr(BatchAccumulator, "add", tell)

    with pytest.raises(LostOffsetError):
        for seed in range(40):
            run(seed, kind)


def test_an_answer_given_before_the_commit_is_detected_as_lost_offset(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(PartitionLog, "committed", lambda _log, _written: True)

    with pytest.raises(LostOffsetError):
        for seed in range(20):
            run(seed)
