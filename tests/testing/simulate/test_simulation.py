"""The simulation that a test gets, and the findings of `check`."""

import pytest
import trio

from trio_kafka.testing.checkers import BrokenGuaranteeError
from trio_kafka.testing.simulate import run_seed, simulate


@simulate(seeds=1)
async def test_clients_are_numbered_and_share_the_history(sim):
    names = [sim.producer().name, sim.producer().name, sim.consumer("t").name, sim.producer("x")]

    assert names[:3] == ["producer-1", "producer-2", "consumer-1"]
    assert names[3].history is sim.history


@simulate(seeds=20)
async def test_seed_draws_only_faults_of_the_requested_kinds(sim):
    async with sim.chaos(links=True, within_s=1.0, most=3) as faults:
        await trio.sleep(0.1)

    kinds = {kind for _, kind, *_ in faults}
    assert kinds <= {"cut", "cut_requests", "cut_answers", "half_open", "reset"}


def test_wrong_schedule_is_refused():
    async def test(sim):
        async with sim.chaos([(0, "melt")]):
            pass

    with pytest.raises(ValueError, match="unknown kind of fault 'melt'"):
        run_seed(test, 0)


def test_lost_acknowledged_record_fails_the_check():
    async def test(sim):
        await sim.kafka.create_topic("t")
        async with sim.producer() as producer:
            await producer.send("t", b"there")
        sim.history.sent("p", "t", b"gone", partition=0)
        sim.history.acknowledged("p", "t", 0, b"gone", offset=1)
        await sim.check()

    with pytest.raises(BrokenGuaranteeError, match="b'gone' was acknowledged at offset 1 of t-0"):
        run_seed(test, 0)


@simulate(seeds=3)
async def test_all_faults_are_healed_at_the_end_of_chaos(sim):
    async with sim.chaos([(0, "kill", 3000.0), (0, "cut", 3000.0), (0, "fill_disk", 0, 3000.0)]):
        await trio.sleep(1)
        assert not sim.kafka.is_running

    assert sim.kafka.is_running
    await sim.kafka.create_topic("t")


@simulate(seeds=4)
async def test_fault_rules_of_requests_stay_in_force_after_a_kill_and_a_restart(sim):
    await sim.kafka.create_topic("t")
    fault = sim.kafka.fault(api="Produce", error="NOT_LEADER_OR_FOLLOWER", every=2)
    async with sim.producer() as producer:
        await producer.send("t", b"0")
        async with sim.chaos([(0, "kill", 0.1)]):
            await trio.sleep(1)
            await producer.send("t", b"1")
        await sim.kafka.restart()
        await producer.send("t", b"2")
    fault.remove()

    assert sim.lives.starts == 3
    assert fault.seen == 3 + fault.hits
    assert fault.hits >= 1
    assert await sim.values("t") == [b"0", b"1", b"2"]
    await sim.check()
