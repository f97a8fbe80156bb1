"""A simulated machine for the tests of logs."""

import pytest

from trio_kafka.testing.simulation import simulated_world


@pytest.fixture
async def world(autojump_clock):
    """Its clock is the test's; asked for by every test that waits."""
    return simulated_world()
