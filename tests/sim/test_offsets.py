"""Committed offsets outlive power losses: nothing that anybody was told goes back."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import pytest

from tests.sim.clients import BROKER
from tests.sim.committers import Committers, LostOffsetError
from tests.sim.lives import (
    LIVES,
    SETTINGS,
    End,
    choose_end,
    count_queued,
    live,
    stall_now_and_then,
)
from trio_kafka.config.load import broker_config
from trio_kafka.coordinators.batch_accumulator import BatchAccumulator
from trio_kafka.coordinators.effects import Effects
from trio_kafka.coordinators.partition_log import PartitionLog
from trio_kafka.testing.simulation import run_simulated
from trio_kafka.world.simulated import Universe

Size = Callable[[int, int], int]
Lives = Callable[[Universe], Awaitable[Committers]]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
FEW: Final = {"offsets.topic.num.partitions": "3"}
ONE: Final = {"offsets.topic.num.partitions": "1", "num.network.threads": "1"}


async def live_and_die(
    universe: Universe, linger_ms: int = -1, settings: Mapping[str, str] = FEW, **how: Any
) -> Committers:
    """Some lives at the mercy of chance, one that ends in order, one that looks at what is left.
    how: of the clients.
    """
    chance = universe.chance("fate")
    linger = {"group.coordinator.append.linger.ms": str(linger_ms)}
    config = broker_config({**SETTINGS, **settings, **linger})
    clients = Committers(
        world=universe.machine("clients"), chance=universe.chance("clients"), address=BROKER, **how
    )
    in_order = End(phase=None, after_s=0.0, kept=0.0)
    for end in [*(choose_end(chance) for _ in range(LIVES)), in_order, in_order]:
        await live(universe.machine("broker"), clients, end, config)
    return clients


async def stall_live_and_die(universe: Universe) -> Committers:
    """The same with a disk that makes appends queue."""
    stall_now_and_then(universe)
    return await live_and_die(universe)


async def gather_live_and_die(universe: Universe) -> Committers:
    """The same with batches of what comes within 5 ms."""
    return await live_and_die(universe, 5)


async def gather_stall_live_and_die(universe: Universe) -> Committers:
    """The same with such a disk, and such batches."""
    stall_now_and_then(universe)
    return await live_and_die(universe, 5)


async def rounds_live_and_die(universe: Universe) -> Committers:
    """The same with many that commit at once, so that a reader finds several together."""
    universe.latency = 0.0
    return await live_and_die(universe, settings=ONE, count=8, pause_s=0.01, beat_s=0.005)


async def rounds_stall_live_and_die(universe: Universe) -> Committers:
    """The same with a disk that makes appends queue."""
    stall_now_and_then(universe)
    return await rounds_live_and_die(universe)


def run(seed: int, lives: Lives = live_and_die) -> int:
    return run_simulated(lives, seed, moody=bool(seed % 2)).acknowledged


def test_offsets_outlive_every_power_loss(size: Size) -> None:
    seeds = size(3, 50)

    assert sum(run(seed) for seed in range(seeds)) > 100 * seeds


def test_offsets_outlive_power_losses_of_a_slow_disk(
    size: Size, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds, queued = size(4, 50), count_queued(monkeypatch)

    assert sum(run(seed, stall_live_and_die) for seed in range(seeds)) > 50 * seeds
    assert sum(queued) > 20 * seeds


def test_offsets_that_are_gathered_outlive_power_losses(
    size: Size, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds, sizes = size(2, 50), count_gathered(monkeypatch)

    for lives in (gather_live_and_die, gather_stall_live_and_die):
        assert sum(run(seed, lives) for seed in range(seeds)) > 50 * seeds
    assert sum(1 for size in sizes if size > 1) > 10 * seeds


@pytest.mark.parametrize(
    ("lives", "least"), [(rounds_live_and_die, 20), (rounds_stall_live_and_die, 3)]
)
def test_offsets_of_one_round_outlive_power_losses(
    size: Size, monkeypatch: pytest.MonkeyPatch, lives: Lives, least: int
) -> None:
    """least: batches of several, of each seed: there are few while a disk is slow."""
    seeds, sizes = size(4, 50), count_gathered(monkeypatch)

    assert sum(run(seed, lives) for seed in range(seeds)) > 100 * seeds
    assert sum(1 for size in sizes if size > 1) > least * seeds


def count_gathered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many events each batch has that is written from now on."""
    write, sizes = BatchAccumulator.write, []

    def count(gathering: BatchAccumulator, now_ms: int) -> Any:
        sizes.append(len(gathering.effects))
        return write(gathering, now_ms)

    monkeypatch.setattr(BatchAccumulator, "write", count)
    return sizes


@pytest.mark.parametrize("lives", [gather_live_and_die, rounds_live_and_die])
def test_a_gathered_answer_that_comes_too_early_is_noticed(
    monkeypatch: pytest.MonkeyPatch, lives: Lives
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

    with pytest.raises(ExceptionGroup) as error:
        for seed in range(40):
            run(seed, lives)

    assert error.value.subgroup(LostOffsetError) is not None


def test_an_answer_that_comes_too_early_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PartitionLog, "committed", lambda _log, _written: True)

    with pytest.raises(ExceptionGroup) as error:
        for seed in range(20):
            run(seed)

    assert error.value.subgroup(LostOffsetError) is not None
