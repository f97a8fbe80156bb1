"""One seed, one run: determinism, faults, links, crashes of whole machines."""

import errno
import importlib.util
import pathlib
import subprocess
import sys

import pytest
import trio

from trio_kafka.testing.simulation import fault_on, run_simulated
from trio_kafka.world.simulated import Universe
from trio_kafka.world.world import Crashed

pytestmark = pytest.mark.leaves("its sockets end with their machines")

SCENARIO = pathlib.Path(__file__).with_name("scenario.py")
_spec = importlib.util.spec_from_file_location("scenario", SCENARIO)
scenario = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(scenario)


def in_a_process(seed, hash_seed):
    return subprocess.run(
        [sys.executable, str(SCENARIO), str(seed)],
        env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        check=True,
        text=True,
    ).stdout.strip()


@pytest.mark.slow
def test_equal_seeds_give_equal_traces_for_every_hash_seed():
    here = scenario.digest(7)

    assert in_a_process(7, "0") == here
    assert in_a_process(7, "1") == here


def test_different_seeds_give_different_traces_in_any_order_of_runs():
    first = {seed: scenario.digest(seed) for seed in range(8)}

    assert len(set(first.values())) == 8
    assert {seed: scenario.digest(seed) for seed in reversed(range(8))} == first


def lost_by(forgotten, seeds=12):
    result = [
        Universe(seed, moody=True).run(lambda universe: scenario.power_loss(universe, forgotten))
        for seed in range(seeds)
    ]
    assert sum(acknowledged for acknowledged, _ in result) > seeds
    return sum(lost for _, lost in result)


@pytest.mark.slow
def test_acknowledged_records_survive_a_power_loss():
    assert lost_by("") == 0


@pytest.mark.parametrize("forgotten", ["file", "directory"])
def test_missing_sync_loses_records_with_some_seed(forgotten):
    assert lost_by(forgotten) > 0


async def pair(universe):
    here = universe.machines.get("here") or universe.machine("here")
    there = universe.machines.get("there") or universe.machine("there")
    listener = await here.network.listen("", 0)
    far = await there.network.connect("here", listener.address.port)
    return await listener.accept(), far


def test_cut_link_delays_sent_bytes_until_the_link_is_healed():
    async def main(universe):
        near, far = await pair(universe)
        universe.cut("here", "there")
        start = trio.current_time()
        near.send(b"x")
        universe.at(start + 30, lambda: universe.heal("here", "there"))
        await far.wait_readable()
        return trio.current_time() - start

    assert 30 < run_simulated(main) < 30.5


def test_connecting_over_a_cut_link_succeeds_after_healing_or_times_out():
    async def main(universe):
        await pair(universe)
        here, there = universe.machines["here"], universe.machines["there"]
        listener = await here.network.listen("", 9092)
        universe.cut("here", "there")
        universe.at(trio.current_time() + 10, lambda: universe.heal("here", "there"))
        await there.network.connect("here", 9092)
        healed = trio.current_time()
        universe.cut("here", "there")
        with pytest.raises(TimeoutError) as caught:
            await there.network.connect("here", 9092)
        listener.close()
        return healed, trio.current_time() - healed, caught.value.errno

    healed, waited, number = run_simulated(main)

    assert 10 < healed < 20
    assert 127 <= waited < 128
    assert number == errno.ETIMEDOUT


@pytest.mark.parametrize("call", ["create", "append", "try_read", "truncate", "rename", "names"])
def test_fault_on_any_disk_call_raises_its_error(call):
    async def main(universe):
        root = universe.machine("m").directory("/d", create=True)
        file = root.create("f")
        file.append([b"abc"])
        universe.fault = fault_on(call, OSError(errno.EIO, "told to"))
        calls = {
            "create": lambda: root.create("g"),
            "append": lambda: file.append([b"x"]),
            "try_read": lambda: file.try_read(0, bytearray(1)),
            "truncate": lambda: file.truncate(0),
            "rename": lambda: root.rename("f", "g"),
            "names": root.names,
        }
        with pytest.raises(OSError, match="told to"):
            calls[call]()
        universe.fault = universe.faults
        return root.names(), file.size

    assert run_simulated(main) == (["f"], 3)


def test_fault_function_gets_machine_call_and_target_and_may_return_a_delay():
    async def main(universe):
        file = universe.machine("m").directory("/d", create=True).create("f")
        seen = []

        def slow(*call):
            seen.append(call)
            return 0.5

        universe.fault = slow
        before = trio.current_time()
        file.append([b"x"])
        return trio.current_time() - before, seen

    assert run_simulated(main) == (0.5, [("m", "append", "/d/f")])


def test_injected_connection_reset_reaches_both_ends():
    async def main(universe):
        near, far = await pair(universe)
        universe.fault = fault_on("send", ConnectionResetError(errno.ECONNRESET, "told to"))
        with pytest.raises(ConnectionResetError, match="told to"):
            near.send(b"x")
        universe.fault = universe.faults
        await far.wait_readable()
        with pytest.raises(ConnectionResetError):
            far.receive_into(bytearray(1))

    run_simulated(main)


def test_kill_keeps_the_page_cache_and_resets_the_peers():
    async def main(universe):
        _, far = await pair(universe)
        here = universe.machines["here"]
        here.directory("/").create("f").append([b"x"])
        here.crash(power=False)
        await far.wait_readable()
        with pytest.raises(ConnectionResetError):
            far.receive_into(bytearray(1))
        return universe.machine("here").directory("/").names()

    assert run_simulated(main) == ["f"]


def test_peer_of_a_machine_without_power_gets_a_reset_after_the_restart():
    async def main(universe):
        _, far = await pair(universe)
        here = universe.machines["here"]
        here.directory("/").create("f").append([b"x"])
        here.crash(kept=0.0)
        far.send(b"anyone?")
        with trio.move_on_after(600) as silence:
            await far.wait_readable()
        names = universe.machine("here").directory("/").names()
        far.send(b"anyone now?")
        await far.wait_readable()
        with pytest.raises(ConnectionResetError):
            far.receive_into(bytearray(1))
        return silence.cancelled_caught, names

    assert run_simulated(main) == (True, [])


def test_every_call_of_a_crashed_machine_raises_crashed():
    async def main(universe):
        near, _ = await pair(universe)
        here = universe.machines["here"]
        root = here.directory("/")
        file = root.create("f")
        selector = here.network.selector()
        here.crash()
        for call in (
            root.names,
            lambda: file.append([b"x"]),
            lambda: file.lease(0),
            lambda: near.send(b"x"),
            lambda: near.receive_into(bytearray(1)),
            near.close,
            lambda: selector.poll(0, 1),
            lambda: here.directory("/"),
        ):
            with pytest.raises(Crashed):
                call()
        for wait in (
            file.sync,
            root.sync,
            near.wait_readable,
            lambda: here.network.listen("", 1),
            lambda: here.network.connect("there", 1),
            lambda: here.run_in_thread(int),
        ):
            with pytest.raises(Crashed):
                await wait()

    run_simulated(main)


def test_machine_that_is_alive_cannot_be_started_again():
    universe = Universe()
    universe.machine("m")

    with pytest.raises(ValueError, match="alive"):
        universe.machine("m")


async def test_universe_works_on_the_autojump_clock(autojump_clock):
    near, far = await pair(Universe())

    near.send(b"x")
    await far.wait_readable()

    assert far.receive_into(bytearray(1)) == 1


def test_a_link_may_be_cut_in_one_direction():
    async def main(universe):
        near, far = await pair(universe)
        universe.cut("here", "there", one_way=True)
        near.send(b"late")
        far.send(b"at once")

        await near.wait_readable()
        assert trio.current_time() < 1
        with trio.move_on_after(5) as scope:
            await far.wait_readable()
        assert scope.cancelled_caught
        universe.heal("here", "there")
        await far.wait_readable()

    Universe(0).run(main)


def test_half_open_connection_loses_sent_bytes_and_fails_at_the_sender():
    async def main(universe):
        near, far = await pair(universe)

        assert universe.half_open("here", "there") == 1

        assert near.send(b"lost") == 4
        with trio.move_on_after(900) as scope:
            await near.wait_readable()
        assert scope.cancelled_caught
        await near.wait_readable()
        with pytest.raises(ConnectionError):
            near.receive_into(bytearray(1))
        with trio.move_on_after(3600) as scope:
            await far.wait_readable()
        assert scope.cancelled_caught  # it has sent nothing, so it learns nothing
        assert universe.half_open("here", "there") == 0
        assert universe.half_open("nobody", "there") == 0

    Universe(0).run(main)


def test_drift_and_step_of_a_wall_clock_survive_the_restart_of_the_machine():
    async def main(universe):
        world, other = universe.machine("a"), universe.machine("b")
        await trio.sleep(10)
        world.clock.drift(0.1)
        await trio.sleep(10)
        assert world.clock.wall() - other.clock.wall() == pytest.approx(1)
        world.clock.drift(-0.2)
        world.clock.step(5)
        await trio.sleep(10)
        assert world.clock.wall() - other.clock.wall() == pytest.approx(4)
        assert world.clock.elapsed() == trio.current_time()

        world.crash()
        again = universe.machine("a")
        assert again.clock.wall() - other.clock.wall() == pytest.approx(4)

    Universe(0).run(main)
