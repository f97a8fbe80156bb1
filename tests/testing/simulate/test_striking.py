"""Each kind of fault does what its name says, and is healed."""

import pytest
import trio

from trio_kafka.testing.simulate import simulate
from trio_kafka.testing.simulate.schedule import ARGUMENTS
from trio_kafka.testing.simulate.striking import Chaos

EXAMPLES = {
    "lose_power": (0.5, 0.3),
    "lose_power_at": ("sync", "*.log", 1, 0.5, 0.3),
    "kill": (0.3,),
    "stop": (0.3,),
    "cut": (0.5,),
    "cut_requests": (0.5,),
    "cut_answers": (0.5,),
    "half_open": (),
    "reset": (2, 1.0),
    "slow_disk": (0.2, 1.0),
    "fill_disk": (50, 0.5),
    "fail_disk": ("append", 1),
    "drift_clock": (0.1,),
    "step_clock": (-5.0,),
}
SEEN = {  # in the trace, where a fault leaves one
    "lose_power": " crash power ",
    "lose_power_at": " crash power ",
    "kill": " crash kill ",
    "half_open": " half_open ",
    "fail_disk": " kafka/1 failed ",
    "fill_disk": " kafka/1 failed ",
}


def test_every_kind_of_fault_has_an_example_and_a_method():
    assert set(EXAMPLES) == set(ARGUMENTS)
    assert all(hasattr(Chaos, kind) for kind in ARGUMENTS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(EXAMPLES))
@simulate(seeds=2)
async def test_clients_continue_after_each_fault_and_no_record_is_lost(sim, kind):
    await sim.kafka.create_topic("t")
    before = sim.clients.clock.wall() - sim.lives.world.clock.wall()
    async with sim.producer(request_s=2.0) as producer, sim.consumer("t", group="g") as consumer:
        async with sim.chaos([(0.1, kind, *EXAMPLES[kind])]) as planned:
            for number in range(8):
                await producer.send("t", b"%d" % number)
                await trio.sleep(0.1)
        read = []
        while len(read) < 8:
            read += await consumer.poll()
            await consumer.commit()

    await sim.check()
    assert sim.schedules == [planned] == [[(0.1, kind, *EXAMPLES[kind])]]
    assert [record.value for record in read] == [b"%d" % number for number in range(8)]
    trace = "\n".join(sim.universe.trace)
    assert f" chaos chaos {kind} " in trace
    assert SEEN.get(kind, "") in trace
    drifted = abs(sim.clients.clock.wall() - sim.lives.world.clock.wall() - before) > 0.01
    assert drifted == kind.endswith("_clock")
    assert sim.universe.cuts == set()
    assert sim.universe.faults.rules == []


@simulate(seeds=4)
async def test_broker_whose_end_takes_longer_than_its_restart_delay_is_restarted(sim):
    """A write that a thread has begun ends after the power loss, and after the time to restart."""
    await sim.kafka.create_topic("t")
    faults = [(0, "slow_disk", 3.0, 60.0), (0, "lose_power_at", "sync", "*", 1, 0.0, 0.05)]
    async with sim.producer(request_s=1.0) as producer, sim.chaos(faults):
        with trio.fail_after(60):
            await producer.send("t", b"x")
            while sim.lives.starts < 2:
                await producer.send("t", b"y")

    await sim.check()
