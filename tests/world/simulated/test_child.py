"""Children of a simulated machine; the contract is in tests/world/test_protocols_children.py."""

import pytest
import trio

from trio_kafka.testing.simulation import run_simulated
from trio_kafka.world.world import Crashed


async def wait(process):
    await trio.sleep_forever()


def test_crash_of_a_machine_ends_its_children() -> None:
    async def main(universe):
        world = universe.machine("m")
        world.programs["wait"] = wait
        child = await world.start_child(["wait"], environment={}, directory="/")
        world.crash(power=False)
        await trio.sleep(1)
        with pytest.raises(Crashed):
            await child.wait()
        assert child.process.status == -9
        assert not universe.machine("m").children

    run_simulated(main)


def test_start_of_a_child_fails_by_a_fault_rule() -> None:
    async def main(universe):
        universe.fault = lambda machine, call, target: (
            OSError(11, "no more") if (call, target) == ("start_child", "wait") else None
        )
        with pytest.raises(OSError, match="no more"):
            await universe.machine("m").start_child(["wait"], environment={}, directory="/")

    run_simulated(main)


def test_simulated_programs_run_in_virtual_time() -> None:
    async def late(process):
        await trio.sleep(3600)
        return 7

    async def main(universe):
        world = universe.machine("m")
        world.programs["late"] = late
        child = await world.start_child(["late"], environment={}, directory="/")
        return await child.wait(), trio.current_time() > 3600

    assert run_simulated(main) == (7, True)
