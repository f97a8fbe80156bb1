"""No sequence of steps breaks a promise of transactions: no aborted record is read, the last stable
offset never falls, and nothing hangs while the coordinator lives.
"""

from functools import partial
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.sim.transaction_actors import NAMES, PARTITIONS
from tests.sim.transaction_model import SETTINGS, JointModel, Step, joint_run
from trio_kafka.testing.simulate import run_seed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

NAME = st.sampled_from(sorted(NAMES))
AT = st.sampled_from(PARTITIONS)


def steps(method: Any, **arguments: Any) -> Any:
    """Return the strategy of one kind of step."""
    return st.builds(lambda **drawn: partial(method, **drawn), **arguments)


PRODUCER_STEP = st.one_of(
    steps(JointModel.initialize, name=NAME, continues=st.booleans()),
    steps(JointModel.add, name=NAME, at=AT),
    steps(JointModel.produce, name=NAME, at=AT),
    steps(JointModel.end, name=NAME, commits=st.booleans()),
)


class Transactions(RuleBasedStateMachine):
    """Plan of one run. It is carried out when it is complete, as rules have no loop."""

    def __init__(self) -> None:
        super().__init__()
        self.seed = 0
        self.restarts = False
        self.plan: list[tuple[Step, ...]] = []

    @initialize(seed=st.integers(0, 1 << 16))
    def choose(self, seed: int) -> None:
        self.seed = seed

    @rule(name=NAME, continues=st.booleans())
    def initialize_producer(self, name: str, continues: bool) -> None:
        self._plan(partial(JointModel.initialize, name=name, continues=continues))

    @rule(name=NAME, at=AT, adds=st.booleans())
    def produce(self, name: str, at: Any, adds: bool) -> None:
        if adds:
            self._plan(partial(JointModel.add, name=name, at=at))
        self._plan(partial(JointModel.produce, name=name, at=at))

    @rule(name=NAME, places=st.sets(AT, min_size=1), commits=st.booleans())
    def produce_and_end(self, name: str, places: Any, commits: bool) -> None:
        for at in sorted(places):
            self.produce(name, at, adds=True)
        self._plan(partial(JointModel.end, name=name, commits=commits))

    @rule(name=NAME, commits=st.booleans())
    def end(self, name: str, commits: bool) -> None:
        self._plan(partial(JointModel.end, name=name, commits=commits))

    @rule(first=PRODUCER_STEP, second=PRODUCER_STEP)
    def two_at_once(self, first: Step, second: Step) -> None:
        self._plan(first, second)

    @precondition(lambda self: not self.restarts)
    @rule(step=PRODUCER_STEP, kills=st.booleans())
    def restart_meanwhile(self, step: Step, kills: bool) -> None:
        self.restarts = True  # one costs as much as all other steps
        self._plan(step, partial(JointModel.restart, kills=kills))

    @rule(number=st.integers(0, 9), at=AT, ends=st.booleans())
    def let_a_fenced_producer_come_back(self, number: int, at: Any, ends: bool) -> None:
        self._plan(partial(JointModel.haunt, number=number, at=at, ends=ends))

    @rule(at=AT, seconds=st.sampled_from([0.2, 3.0]), refuses=st.booleans())
    def hold_up_a_partition(self, at: Any, seconds: float, refuses: bool) -> None:
        method = JointModel.refuse if refuses else JointModel.hold
        self._plan(partial(method, at=at, seconds=seconds))

    @rule(name=NAME, at=AT)
    def outlive_the_timeout(self, name: str, at: Any) -> None:
        self.produce(name, at, adds=True)
        self.wait(10.0)
        self.produce(name, at, adds=True)
        self.end(name, commits=True)
        self.initialize_producer(name, continues=False)

    @rule(seconds=st.sampled_from([0.01, 1.0]))
    def wait(self, seconds: float) -> None:
        self._plan(partial(JointModel.wait, seconds=seconds))

    def _plan(self, *steps: Step) -> None:
        self.plan.append(steps)

    def teardown(self) -> None:
        run_seed(partial(joint_run, self.plan), self.seed, settings=SETTINGS)


EXAMPLES = 10 if settings.default.max_examples < 100 else 800  # of the short and the long form
Transactions.TestCase.settings = settings(stateful_step_count=25, max_examples=EXAMPLES)
TestJointModel = Transactions.TestCase
