"""Seeded runs of our producers, our broker and our consumers in one loop, under failures."""

import pytest

from tests.clients.simulation.scenario import SETTINGS, system
from tests.lanes import Seeds
from trio_kafka.testing.simulate import simulate

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_no_seed_breaks_a_promise_to_a_client(seeds: Seeds) -> None:
    simulate(seeds(20, 500), settings=SETTINGS)(system)()
