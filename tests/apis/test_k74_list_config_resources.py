"""ListConfigResources: what there is that has settings."""

import attrs
import pytest
from trio.testing import MockClock

from tests.apis.configs import BROKER, GROUP, LOGGER, METRICS, SET, TOPIC, alter
from tests.apis.kit import TWO_LISTENERS, broker, lead_elsewhere
from trio_kafka.errors import ErrorCode
from trio_kafka.model import NodeId
from trio_kafka.protocol.messages.k74_list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)


def listed(answer: ListConfigResourcesResponse) -> list[tuple[int, str]]:
    assert answer.error_code == 0
    return [
        (resource.resource_type, resource.resource_name) for resource in answer.config_resources
    ]


async def test_version_0_lists_only_client_metrics(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await alter(served, METRICS, "all", ("metrics", SET, "*"))
        answer = await served.ask(ListConfigResourcesRequest(), 0)

    assert [row.resource_name for row in answer.config_resources] == ["all"]


async def test_an_empty_list_of_types_means_every_type(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.create_topic("u")
        answer = await served.ask(ListConfigResourcesRequest([]), 1)

    assert listed(answer) == [(LOGGER, "1"), (BROKER, "1"), (TOPIC, "t"), (TOPIC, "u")]


@pytest.mark.parametrize(
    ("types", "resources"),
    [
        ([TOPIC], [(TOPIC, "t")]),
        ([BROKER], [(BROKER, "1")]),
        ([LOGGER], [(LOGGER, "1")]),
        ([METRICS], []),
        ([GROUP], [(GROUP, "g")]),
        ([TOPIC, BROKER, TOPIC], [(BROKER, "1"), (TOPIC, "t")]),
    ],
)
async def test_only_resources_of_the_requested_types_are_listed(
    autojump_clock: MockClock, types: list[int], resources: list[tuple[int, str]]
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await alter(served, GROUP, "g", ("consumer.session.timeout.ms", SET, "50000"))
        answer = await served.ask(ListConfigResourcesRequest(list(types)), 1)

    assert listed(answer) == resources


@pytest.mark.parametrize("types", [[0], [99], [-1], [TOPIC, 99]])
async def test_an_unknown_resource_type_is_an_unsupported_version(
    autojump_clock: MockClock, types: list[int]
) -> None:
    async with broker() as served:
        answer = await served.ask(ListConfigResourcesRequest(list(types)), 1)

    assert (answer.error_code, answer.config_resources) == (ErrorCode.UNSUPPORTED_VERSION, [])


async def test_only_unfenced_brokers_on_the_listener_of_the_request_are_listed(
    autojump_clock: MockClock,
) -> None:
    ask = ListConfigResourcesRequest([BROKER])
    async with broker(TWO_LISTENERS) as served, served.connect("TWO") as client:
        await served.create_topic("t")
        assert listed(await client.ask(ask, 1)) == [(BROKER, "1")]
        await lead_elsewhere(served)  # broker 7 joins

        assert sorted(listed(await client.ask(ask, 1))) == [(BROKER, "1"), (BROKER, "7")]
        cache = served.broker.metadata
        brokers = {**cache.image.brokers}
        brokers[NodeId(7)] = attrs.evolve(brokers[NodeId(7)], fenced=True)
        cache.image = attrs.evolve(cache.image, brokers=brokers)

        assert listed(await client.ask(ask, 1)) == [(BROKER, "1")]
