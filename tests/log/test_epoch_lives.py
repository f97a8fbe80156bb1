"""Leader epochs over many lives of a log: after a crash at any call they are those of a model."""

from collections.abc import Awaitable, Callable
from functools import partial
from random import Random

import pytest
import trio

from tests.lanes import offset_below
from tests.log.kit import append, batch, content_of, offsets, read_all
from tests.log.managers import SMALL, T0, TOPIC_ID, format_directory, started
from trio_kafka.log.durability.sync import sync
from trio_kafka.log.files.checkpoints import LEADER_EPOCHS, read_lines
from trio_kafka.log.log import Log
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.log.manager.maintenance import write_checkpoints
from trio_kafka.log.rolling import roll
from trio_kafka.log.truncate import truncate_to
from trio_kafka.model import TopicId
from trio_kafka.testing.simulation import run_simulated
from trio_kafka.world.simulated import SimulatedWorld, Universe
from trio_kafka.world.world import Crashed

READS = ("read", "try_read", "open", "names", "exists")


class Doom:
    """Crash a machine at its `number`th call that changes something."""

    def __init__(self, world: SimulatedWorld, number: int, *, power: bool, kept: float) -> None:
        self.remaining = number
        self._world = world
        self._power = power
        self._kept = kept
        world.universe.fault = self._judge

    def _judge(self, machine: str, call: str, target: str) -> None:
        del machine, target
        if call in READS:
            return
        self.remaining -= 1
        if self.remaining < 0:
            self._world.crash(power=self._power, kept=self._kept)
            raise Crashed


async def ends_in_crash(life: Callable[[], Awaitable[object]]) -> bool:
    """Run a life; whether its machine crashed before the end."""
    crashed = False
    try:
        await life()
    except* Crashed:
        crashed = True
    return crashed


async def on_disk(log: Log) -> list[tuple[int, int]]:
    rows = await read_lines(log.directory, LEADER_EPOCHS, 2)
    return [(int(epoch), int(start)) for epoch, start in rows]


def rows_of(epochs: list[int], start: int = 0) -> list[tuple[int, int]]:
    """Leader epochs of a log that begins at `start`, whose record at `n` has `epochs[n]`."""
    starts: dict[int, int] = {}
    for offset, epoch in enumerate(epochs[start:], start):
        starts.setdefault(epoch, offset)
    return list(starts.items())


async def killed(universe: Universe) -> SimulatedWorld:
    """The next life, after a kill -9 of the present one."""
    universe.machines["broker"].crash(power=False)
    await trio.lowlevel.checkpoint()
    return universe.machine("broker")


def test_leader_epochs_are_unchanged_after_two_kills() -> None:
    async def main(universe: Universe) -> tuple[list[tuple[int, int]], tuple[int, int]]:
        world = universe.machine("broker")
        await format_directory(world, "/data")
        log = (await started(world)).create(T0, TOPIC_ID, SMALL)
        for number in range(6):
            append(log, batch(1), epoch=1)
            if number == 0:
                await sync(log)
        for number in range(6, 36):
            append(log, batch(1), epoch=number // 6 + 1)
        for _ in range(2):
            log = (await started(await killed(universe))).logs[0]
        return log.epochs.rows, log.epoch_end_offset(1)

    rows, end_of_one = run_simulated(main)

    assert rows == [(1, 0), (2, 6), (3, 12), (4, 18), (5, 24), (6, 30)]
    assert end_of_one == (1, 6)


def test_leader_epochs_below_the_recovery_point_are_on_disk_after_recovery() -> None:
    async def main(universe: Universe) -> None:
        world = universe.machine("broker")
        await format_directory(world, "/data")
        log = (await started(world)).create(T0, TOPIC_ID, SMALL)
        for epoch in (3, 5, 8):
            append(log, batch(2), epoch=epoch)

        log = (await started(await killed(universe))).logs[0]

        assert log.recovery_point == log.end_offset == 6
        assert await on_disk(log) == log.epochs.rows == [(3, 0), (5, 2), (8, 4)]
        checkpoint = await content_of(world_root(universe), "recovery-point-offset-checkpoint")
        assert checkpoint.split(b"\n")[2] == b"t 0 6"

    run_simulated(main)


def world_root(universe: Universe):
    return universe.machines["broker"].directory("/data")


@pytest.mark.slow
@pytest.mark.parametrize("power", [True, False])
def test_crash_during_recovery_never_applies_checkpoints_of_a_deleted_log(
    size, power: bool
) -> None:
    """Wherever the recovery of the new log is killed, or loses its power."""

    async def main(universe: Universe) -> int:
        world = universe.machine("broker")
        await format_directory(world, "/data")
        manager = await started(world)
        old = manager.create(T0, TOPIC_ID, SMALL)
        for _ in range(60):
            append(old, batch(1), epoch=7)
        old.set_start_offset(50)
        await sync(old)
        await write_checkpoints(manager)
        manager.delete(T0)
        await world.directory("/data").sync()
        new = manager.create(T0, TopicId(bytes(15) + b"2"), SMALL)
        for number in range(30):
            append(new, batch(1), epoch=number // 10)
        world.crash(power=False)
        for _ in range(2):
            world = universe.machine("broker")
            doom = Doom(world, universe.seed, power=power, kept=0.9)
            await ends_in_crash(partial(started, world))
            universe.fault = universe.faults
            world.crash(power=False)
        log = (await started(universe.machine("broker"))).get(T0)
        if log is None:  # never synced: its name may be lost
            assert power
            return doom.remaining
        start, end = log.start_offset, log.end_offset
        assert offsets(await read_all(log)) == list(range(start, end))
        assert (start, end) == (0, 30) or (power and start <= end <= 30)
        assert log.epochs.rows == rows_of([offset // 10 for offset in range(end)], start)
        return doom.remaining

    step = size(4, 1)
    number = offset_below(step)
    while run_simulated(main, number) < 0:
        number += step
    assert number > 20


class Lives:
    """One log through lives that end at some call; `epochs`: that of each record."""

    def __init__(self, universe: Universe) -> None:
        self.universe = universe
        self.chance: Random = universe.chance("lives")
        self.epochs: list[int] = []
        self.start = 0
        self.synced = 0

    async def run(self, count: int) -> None:
        world = self.universe.machine("broker")
        await format_directory(world, "/data")
        power = False
        for _ in range(count):
            power = self.chance.random() < 0.3
            number = self.chance.choice((10, 40, 200))
            Doom(world, self.chance.randrange(number), power=power, kept=self.chance.random())
            await ends_in_crash(partial(self.live, world))
            world = self.universe.machine("broker")
        self.universe.fault = self.universe.faults
        await self.loaded(world)

    async def loaded(self, world: SimulatedWorld) -> tuple[LogManager, Log]:
        """The log as the start leaves it: memory and disk are the model's."""
        manager = await started(world)
        log = manager.get(T0) or manager.create(T0, TOPIC_ID, SMALL)
        assert self.synced <= log.end_offset <= len(self.epochs)
        del self.epochs[log.end_offset :]
        if log.start_offset != self.start:  # the name of a segment may get lost before any sync
            assert self.synced == 0
            self.start = log.start_offset
        rows = rows_of(self.epochs, self.start)
        assert log.epochs.rows == rows
        if log.end_offset:
            assert await on_disk(log) == rows
        self.synced = log.end_offset if log.recovery_point == log.end_offset else 0
        return manager, log

    async def live(self, world: SimulatedWorld) -> None:
        manager, log = await self.loaded(world)
        chance = self.chance
        epoch = max(self.epochs, default=0)
        while True:
            match chance.choices(("append", "bump", "sync", "save", "roll", "cut"), WEIGHTS)[0]:
                case "append":
                    count = chance.randrange(1, LARGEST + 1)
                    self.epochs += [epoch] * count
                    append(log, batch(count), epoch)
                case "bump":
                    epoch += chance.randrange(1, 4)
                case "sync":
                    await sync(log)
                    self.synced = log.end_offset
                case "save":
                    await write_checkpoints(manager)
                case "roll":
                    roll(log)
                case "cut":
                    epoch += 1  # a cut log is a follower's, of a new leader
                    await self.cut(log)

    async def cut(self, log: Log) -> None:
        """Cut the log; a crash before the cut has returned may bring back the batches."""
        to = self.chance.randrange(max(0, log.end_offset - 5), log.end_offset + 1)
        self.synced = min(self.synced, max(0, to - LARGEST + 1))
        await truncate_to(log, to)
        assert not log.segments.active.sealed
        del self.epochs[log.end_offset :]
        self.synced = min(self.synced, log.end_offset)


WEIGHTS = (40, 12, 6, 6, 6, 2)
LARGEST = 3  # records of a batch, which is cut as a whole


@pytest.mark.slow
def test_leader_epochs_equal_the_epochs_of_the_batches_after_any_crashes(seeds) -> None:
    for seed in seeds(20, 3000):

        async def main(universe: Universe) -> None:
            await Lives(universe).run(6)

        try:
            run_simulated(main, seed, moody=bool(seed % 2))
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise
