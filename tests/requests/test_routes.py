"""Which handler serves a key and version."""

import pytest

from trio_kafka.model import code_of
from trio_kafka.requests.api import Listing, api, api_of
from trio_kafka.requests.registry import Registry
from trio_kafka.requests.routes import Routes
from trio_kafka.testing.sample_apis import EchoRequest


@api(EchoRequest)
def echo(request: object, context: object) -> None: ...


def test_route_is_created_once_and_only_for_served_versions() -> None:
    registry = Registry()
    echo_api = api_of(echo)
    assert echo_api is not None
    registry.add(echo_api)
    routes = Routes(registry)

    route = routes[code_of(10100, 1)]
    assert route is not None
    assert route is routes[code_of(10100, 1)]
    assert (route.version, route.flexible_request, route.flexible_response) == (1, True, True)
    for key, version in ((10100, 2), (10100, -1), (10101, 0), (-1, -1), (0, 0)):
        assert routes[code_of(key, version)] is None


def test_listed_api_that_cannot_be_imported_is_not_served(caplog: pytest.LogCaptureFixture) -> None:
    registry = Registry()
    registry.add(Listing(10100, "Echo", 0, 1, 1, "no_module_of_this_name"))

    assert Routes(registry)[code_of(10100, 1)] is None
    assert "listed API not imported" in caplog.text


def test_routes_change_when_an_api_is_added_or_removed() -> None:
    registry = Registry()
    routes = Routes(registry)
    assert routes[code_of(10100, 0)] is None
    echo_api = api_of(echo)
    assert echo_api is not None

    registry.add(echo_api)
    assert routes[code_of(10100, 0)] is not None
    registry.remove(10100)
    assert routes[code_of(10100, 0)] is None
