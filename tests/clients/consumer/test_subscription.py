"""Subscriptions that cannot be."""

import pytest

from tests.clients.consumer.kit import T0, consumer_of
from trio_kafka.testing.simulate import simulate


@simulate(seeds=1)
async def test_subscription_is_an_error_that_says_why(sim):
    async with consumer_of(sim) as consumer:
        with pytest.raises(ValueError, match=r"no group\.id"):
            consumer.subscribe(["t"])
    async with consumer_of(sim, group_id="g", group_protocol="classic") as consumer:
        for topics, pattern in (([], None), (["t"], "t.*")):
            with pytest.raises(ValueError, match="want topics or a pattern"):
                consumer.subscribe(topics, pattern=pattern)
        with pytest.raises(ValueError, match="is invalid: missing"):
            consumer.subscribe(pattern="(")
        consumer.assign([T0])
        with pytest.raises(ValueError, match="assigned by assign"):
            consumer.subscribe(["t"])
