"""Each call to the storage fails once and for good, while a broker serves and starts.

One of two log directories has the fault. The other one must serve, and a start without the fault
must find every acknowledged record in both. The list of calls is held to the protocols of the world
by `test_every_call_of_the_storage_interface_is_covered_by_a_fault`.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

import pytest
import trio
from attrs import field, frozen

from tests.lanes import offset_below
from tests.sim import clients as sim_clients
from tests.sim.clients import PASSING, Clients
from tests.sim.ledger import Ledger
from tests.sim.lives import stall_now_and_then
from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode
from trio_kafka.testing.simulate import Simulation, run_seed
from trio_kafka.testing.simulate.lives import NAME
from trio_kafka.world import protocols
from trio_kafka.world.simulated.faults import CallFault, Verdict

Size = Callable[[int, int], int]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

BROKEN: Final = "/b"
SETTINGS: Final = {
    "log.dirs": "/a,/b",
    "metadata.log.dir": "/a",
    "log.roll.ms": "150",
    "log.segment.bytes": str(1 << 20),
    "log.preallocate": "true",
    "log.retention.ms": "-1",
    "log.segment.delete.delay.ms": "100",
}
SERVED_S: Final = 0.75
# Methods of the protocols, by the call that the simulated world makes of them.
CALLS: Final = {
    "names": "names",
    "names_slow": "names",
    "create": "create",
    "create_slow": "create",
    "open": "open",
    "rename": "rename",
    "move": "rename",
    "directory": "directory",
    "lock": "lock",
    "unlink": "unlink",
    "sync_together": "sync_directory",
    "append": "append",
    "append_slow": "append",
    "append_in_pieces": "append",
    "try_read": "try_read",
    "read": "read",
    "truncate": "truncate",
    "reserve": "reserve",
    "trim": "trim",
    "measure": "measure",
    "sync": "sync",
}
FAULTS: Final = sorted({*CALLS.values(), "sync_directory"})
COUPLES: Final = [FAULTS[at : at + 2] for at in range(0, len(FAULTS), 2)]
# Made by the cleaner, by retention without timestamps, and by a stop; tests/log breaks them.
ELSEWHERE: Final = {"modified_ms", "set_modified_ms", "sync_all"}
# Its failure is an answer to the request that asked, and no reason to stop.
HARMLESS: Final = {"space"}
CANNOT_FAIL: Final = {"exists", "resize", "size", "lease", "leased", "close"}
FULL: Final = {"append", "create", "directory", "rename", "reserve"}


@frozen
class Fault:
    """The `number`th call of a phase fails, and the `times` - 1 after it."""

    phase: str
    call: str
    number: int
    error: str
    times: int | None


@define(eq=False)
class StorageCalls:
    """The calls to the directory in each phase, and the fault."""

    stall: Callable[[str, str, str], Verdict]
    rule: Callable[[str, str, str], Verdict]
    fault: Fault | None = None
    phase: str = "begin"
    calls: Counter[tuple[str, str]] = field(factory=Counter)
    broken: set[str] = field(factory=set)

    def __call__(self, machine: str, call: str, target: str) -> Verdict:
        if machine != NAME or not (target + "/").startswith(BROKEN + "/"):
            return self.stall(machine, call, target)
        self.calls[self.phase, call] += 1
        if call == "sync":
            assert target not in self.broken, f"{target}: a failed sync was repeated"
        if self.fault is not None and self.phase == self.fault.phase:
            verdict = self.rule(machine, call, target)
            if isinstance(verdict, OSError):
                self.calls["hits", self.phase] += 1
                if call == "sync":
                    self.broken.add(target)
                return verdict
        return self.stall(machine, call, target)


async def suffer(sim: Simulation, fault: Fault | None) -> Counter[tuple[str, str]]:
    """Serve, serve with the fault, start with the fault, start without it."""
    ledger, faults = Ledger(), sim.universe.fault
    clients = Clients(world=sim.clients, ledger=ledger, chance=sim.universe.chance("clients"))
    stall_now_and_then(sim.universe)
    storage = StorageCalls(sim.universe.fault, faults, fault)
    sim.universe.fault = storage
    if fault is not None:
        rule = CallFault(call=fault.call, error=fault.error, after=fault.number, times=fault.times)
        sim.universe.faults.add(rule)
    await serve(sim, clients, 1.0)
    storage.phase = "serve"
    before = ledger.acknowledged
    await serve(sim, clients, SERVED_S)
    assert ledger.acknowledged > before + 10, "the other directory serves"
    storage.calls["offline", "serve"] += is_offline(sim)
    await sim.lives.kill(power=True, kept=0.5)
    storage.broken.clear()
    storage.phase = "start"
    await sim.lives.start()
    before = ledger.acknowledged
    await serve(sim, clients, SERVED_S)
    assert ledger.acknowledged > before + 10, "the other directory serves after a start"
    assert sim.lives.broker.logs.directories[0].offline is None
    storage.calls["offline", "start"] += is_offline(sim)
    storage.phase = "stop"
    await sim.lives.stop()
    storage.broken.clear()
    storage.phase = "end"
    await sim.lives.start()
    await clients.settle()
    return storage.calls


def is_offline(sim: Simulation) -> bool:
    return [directory.path for directory in sim.lives.broker.logs.online] == ["/a"]


async def serve(sim: Simulation, clients: Clients, seconds: float) -> None:
    with trio.move_on_after(seconds):
        await clients.run()


@cache
def run(fault: Fault | None) -> Counter[tuple[str, str]]:
    async def main(sim: Simulation) -> Counter[tuple[str, str]]:
        return await suffer(sim, fault)

    return run_seed(main, 10, settings=SETTINGS)


@pytest.fixture(autouse=True)
def storage_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients take the errors of an offline directory."""
    monkeypatch.setattr(sim_clients, "PASSING", PASSING | {ErrorCode.KAFKA_STORAGE_ERROR})


def members(protocol: type) -> set[str]:
    return {name for name in vars(protocol) if not name.startswith("_")}


def test_every_call_of_the_storage_interface_is_covered_by_a_fault() -> None:
    members_of_both = members(protocols.Directory) | members(protocols.File)

    assert members_of_both == set(CALLS) | CANNOT_FAIL | HARMLESS | ELSEWHERE
    calls = {call for phase, call in run(None) if phase in {"serve", "start"}}
    assert set(FAULTS) <= calls


@pytest.mark.parametrize("couple", COUPLES, ids=" or ".join)
def test_a_failing_call_takes_one_log_directory_offline_and_the_other_serves(
    couple: Sequence[str], size: Size
) -> None:
    """The short form breaks one of both calls, another one in each run."""
    for call in couple if size(0, 1) else couple[offset_below(len(couple)) :][:1]:
        break_call(call, size)


def break_call(call: str, size: Size) -> None:
    calls = run(None)
    hits = 0
    phases = [phase for phase in ("serve", "start") if calls[phase, call]]
    first = offset_below(len(phases))  # the short form breaks one of them
    for phase in phases[first : first + 1] if size(1, 0) else phases:
        count = calls[phase, call]
        numbers = [count // 3, 0, count - 1]
        errors = ("EIO", "ENOSPC", "EROFS") if call in FULL else ("EIO",)
        for number in numbers[: size(1, 3)]:
            for error in errors[: size(1, 3)]:
                for times in (1, None)[: size(1, 2)]:
                    result = run(Fault(phase, call, number, error, times))
                    hits += result["hits", phase]
                    print(
                        f"{phase} {call} {number} of {count} {error}: offline"
                        f" {result['offline', 'serve']} {result['offline', 'start']}"
                    )
    assert hits
