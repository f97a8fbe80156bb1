"""`@simulate`: a plain test function that runs an async test once for each seed.

A failure keeps its type and gets notes with the seed and the command that replays it with a log.
"""

import inspect
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial, wraps
from typing import Final, TypeVar

import trio

from trio_kafka.attributes import define
from trio_kafka.errors import only_leaf
from trio_kafka.testing.simulate.replay_log import ReplayLog
from trio_kafka.testing.simulate.simulation import Simulation, set_up
from trio_kafka.world.simulated import Universe

T = TypeVar("T")
SEED: Final = "TRIO_KAFKA_SIMULATE_SEED"  # run this seed alone, with a log
SEEDS: Final = "TRIO_KAFKA_SIMULATE_SEEDS"  # run so many seeds instead of the decorator's
TIMEOUT_S: Final = 600.0
_NO_SETTINGS: Final[Mapping[str, str]] = {}


@define(eq=False, kw_only=True)
class Seeds:
    """Set-up of the runs of a test.

    seeds: their number, or the seeds themselves.
    settings: of the broker, texts by Kafka's names. timeout_s: of virtual time for one run.
    moody: also simulate what is legal and rare, see `SimulatedRun`; None: every other seed does.
    """

    seeds: Sequence[int]
    settings: Mapping[str, str]
    timeout_s: float
    moody: bool | None

    def run(self, test: Callable[[Simulation], Awaitable[T]], name: str) -> list[T]:
        """Return the results of all seeds. Raises the failure of the first one that fails."""
        replayed = os.environ.get(SEED)
        if replayed is not None:
            return [self._run_seed(test, int(replayed), name, log=ReplayLog(name, replayed))]
        count = os.environ.get(SEEDS)
        chosen = self.seeds if count is None else range(int(count))
        return [self._run_seed(test, seed, name, log=None) for seed in chosen]

    def _run_seed(
        self,
        test: Callable[[Simulation], Awaitable[T]],
        seed: int,
        name: str,
        *,
        log: ReplayLog | None,
    ) -> T:
        moody = bool(seed % 2) if self.moody is None else self.moody
        universe = Universe(seed, moody=moody)
        times: list[float] = []

        async def main(universe: Universe) -> T:
            try:
                return await _run(universe, test, self.settings)
            finally:
                times.append(trio.current_time())

        try:
            if log is None:
                return universe.run(main, self.timeout_s)
            with log.recording(universe):
                return universe.run(main, self.timeout_s)
        except Exception as error:
            failure = only_leaf(error)
            at_s = f" after {times[0]:.3f} s of virtual time" if times else ""
            failure.add_note(f"simulated run: seed {seed} failed{at_s}")
            if log is None:
                failure.add_note(f"replay it with a log: {_command(name, seed)}")
            else:
                failure.add_note(f"log: {log.path}")
            if failure is error:
                raise
            raise failure from None


async def _run(
    universe: Universe, test: Callable[[Simulation], Awaitable[T]], settings: Mapping[str, str]
) -> T:
    async with trio.open_nursery() as nursery:
        simulation = await set_up(universe, nursery, settings)
        try:
            return await test(simulation)
        except Exception as error:
            for schedule in simulation.schedules:
                only_leaf(error).add_note(f"faults: {schedule}")
            raise
        finally:
            # At once: a test that is over has no use for an orderly stop.
            simulation.lives.world.crash(power=False)
            nursery.cancel_scope.cancel()
    raise AssertionError("unreachable: the block returns or raises")


def _command(name: str, seed: int) -> str:
    """Return the command that replays a seed, for the test that pytest runs, if it does."""
    current = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    return f"{SEED}={seed} pytest '{current}'" if current else f"{SEED}={seed} ({name})"


def run_seed(
    test: Callable[[Simulation], Awaitable[T]],
    seed: int,
    *,
    settings: Mapping[str, str] = _NO_SETTINGS,
    timeout_s: float = TIMEOUT_S,
    moody: bool | None = None,
) -> T:
    """Run `test(sim)` for one seed and return its result. Arguments: see `simulate`."""
    runs = Seeds(seeds=[seed], settings=settings, timeout_s=timeout_s, moody=moody)
    return runs.run(test, getattr(test, "__qualname__", "test"))[0]


def simulate(
    seeds: int | Iterable[int] = 100,
    *,
    settings: Mapping[str, str] = _NO_SETTINGS,
    timeout_s: float = TIMEOUT_S,
    moody: bool | None = None,
) -> Callable[[Callable[..., Awaitable[object]]], Callable[..., None]]:
    """Make a plain function of an async test, which runs it once for each seed in virtual time.

    The test gets a `Simulation` first; its other parameters stay those of the function, so fixtures
    and hypothesis work. The seed decides the order of tasks, the network, the disks and all random
    numbers.
    seeds: their number, or the seeds themselves. settings: of the broker, by Kafka's names.
    timeout_s: virtual time after which a run is stuck. moody: also simulate lost packets, short
        reads and other rare but legal events; None: for odd seeds.
    """
    chosen = range(seeds) if isinstance(seeds, int) else list(seeds)
    runs = Seeds(seeds=chosen, settings=settings, timeout_s=timeout_s, moody=moody)

    def decorate(test: Callable[..., Awaitable[object]]) -> Callable[..., None]:
        if not inspect.iscoroutinefunction(test):
            raise TypeError(f"{test!r} is not an async function: want `async def test(sim)`")
        signature = inspect.signature(test)
        first, *others = signature.parameters.values()
        names = [parameter.name for parameter in others]

        @wraps(test)
        def run(*args: object, **kwargs: object) -> None:
            arguments = {**dict(zip(names, args, strict=False)), **kwargs}
            runs.run(partial(_call, test, first.name, arguments), test.__qualname__)

        # pytest and hypothesis read this signature, and must not look through the wrapper.
        vars(run)["__signature__"] = signature.replace(parameters=others, return_annotation=None)
        del vars(run)["__wrapped__"]
        return run

    return decorate


async def _call(
    test: Callable[..., Awaitable[T]],
    name: str,
    arguments: Mapping[str, object],
    simulation: Simulation,
) -> T:
    return await test(**{name: simulation}, **arguments)
