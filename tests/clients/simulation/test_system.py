"""Seeded runs of our producers, our broker and our consumers in one loop, under failures."""

import pytest

from tests.clients.simulation.scenario import SETTINGS, system
from tests.lanes import Seeds
from trio_kafka.testing.simulate import simulate

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("first", [0, 250])
def test_no_seed_breaks_a_promise_to_a_client(first: int, seeds: Seeds) -> None:
    simulate([first + seed for seed in seeds(25, 250)], settings=SETTINGS)(system)()
