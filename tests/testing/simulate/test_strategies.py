"""Hypothesis shrinks a schedule of faults."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import HypothesisException

from trio_kafka.testing.simulate import simulate
from trio_kafka.testing.simulate.schedule import check_schedule
from trio_kafka.testing.simulate.strategies import schedules


@given(schedules())
def test_strategy_draws_valid_schedules(faults):
    assert check_schedule(faults) == faults
    assert len(faults) <= 5


@settings(max_examples=5, suppress_health_check=list(HealthCheck))
@given(faults=schedules(["links"], within_s=1.0, most=2))
@simulate(seeds=1)
async def test_drawn_schedules_drive_simulated_tests(sim, faults):
    await sim.kafka.create_topic("t")
    async with sim.producer() as producer, sim.chaos(faults):
        for number in range(3):
            await producer.send("t", b"%d" % number)

    await sim.check()


def test_failing_schedule_shrinks_to_the_fault_that_causes_the_failure():
    tried = []

    @settings(database=None, suppress_health_check=list(HealthCheck), max_examples=200)
    @given(schedules())
    def test(faults):
        tried.append(faults)
        assert not any(fault[1] == "kill" for fault in faults)

    with pytest.raises((AssertionError, HypothesisException)):
        test()

    assert tried[-1] == [(0.0, "kill", 1.0)]
