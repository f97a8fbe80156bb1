"""A simulated machine for the tests of brokers."""

import pytest

from trio_kafka.testing.simulation import simulated_world


@pytest.fixture
async def world():
    """On the clock of the test, which asks for `autojump_clock` itself: only so it is used."""
    return simulated_world()
