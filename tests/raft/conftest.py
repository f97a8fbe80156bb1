"""A simulated machine for the tests of the metadata log."""

import pytest

from trio_kafka.testing.simulation import simulated_world


@pytest.fixture
async def world(autojump_clock):
    """Its clock is the test's, which every test asks for by name: only so Trio gets it."""
    return simulated_world()
