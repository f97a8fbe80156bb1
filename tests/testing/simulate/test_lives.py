"""The broker of a simulation, over its lives."""

from functools import partial

import pytest
import trio

from trio_kafka.errors import LogDirError
from trio_kafka.testing.kafka.life import NotRunningError
from trio_kafka.testing.simulate import run_seed, simulate
from trio_kafka.world.simulated.faults import CallFault


@pytest.mark.slow
@simulate(seeds=2)
async def test_acknowledged_records_survive_stop_kill_and_power_loss(sim):
    kafka, lives = sim.kafka, sim.lives
    await kafka.create_topic("t")
    async with sim.producer() as producer:
        for number, end in enumerate((lives.stop, lives.kill, partial(lives.kill, power=True))):
            await producer.send("t", b"%d" % number)
            await end()
            assert not kafka.is_running
            with pytest.raises(NotRunningError, match=r"call start\(\) first"):
                await kafka.topics()
            await end()  # it is down already
            await kafka.start()
            await kafka.start()  # it is up already

    assert await sim.values("t") == [b"0", b"1", b"2"]
    assert lives.starts == 4
    await kafka.restart()
    assert lives.starts == 5
    await sim.check()


@simulate(seeds=2)
async def test_start_interrupted_by_a_crash_is_repeated(sim):
    await sim.kafka.kill()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(sim.kafka.start)
        await trio.sleep(0.1)
        await sim.lives.kill(power=True)

    assert sim.kafka.is_running
    assert sim.lives.starts == 3


@simulate(seeds=2)
async def test_stop_during_a_start_ends_the_start(sim):
    await sim.kafka.kill()
    sim.lives.start_soon()
    await sim.kafka.stop()

    assert not sim.kafka.is_running


@simulate(seeds=1)
async def test_records_are_seen_through_the_kit_and_by_clients(sim):
    await sim.kafka.create_topic("t", 2)
    await sim.kafka.produce("t", b"x")

    assert await sim.kafka.topics() == ["t"]
    assert [record.value for record in await sim.kafka.records("t")] == [b"x"]
    assert await sim.values("t") == [b"x"]
    assert len(await sim.log("t")) == 2


def break_disk(sim):
    sim.universe.faults.add(CallFault(machine="kafka", call="append", error="EIO", times=1))


@simulate(seeds=2)
async def test_supervised_broker_is_restarted_after_a_disk_error(sim):
    await sim.kafka.create_topic("t")
    sim.lives.supervised = True
    break_disk(sim)

    async with sim.producer() as producer:
        assert await producer.send("t", b"x") == 0

    assert sim.lives.starts == 2


def test_disk_error_of_an_unsupervised_broker_fails_the_test():
    async def fail(sim):
        await sim.kafka.create_topic("t")
        break_disk(sim)
        async with sim.producer() as producer:
            await producer.send("t", b"x")

    with pytest.raises(LogDirError, match=r"/data/__cluster_metadata-0: .*Input/output"):
        run_seed(fail, 0)


@simulate(seeds=1, settings={"log.dirs": "/a,/b"})
async def test_broker_has_the_settings_of_the_decorator(sim):
    assert [str(path) for path in sim.kafka.broker.config.log_dirs] == ["/a", "/b"]


@simulate(seeds=1)
async def test_the_broker_may_act_as_an_older_release(sim):
    await sim.kafka.create_topic("t")
    await sim.kafka.as_version("3.9")

    assert sim.kafka.controls.limits.served
    await sim.lives.kill()
    await sim.lives.start()
    assert sim.lives.how.release is not None
