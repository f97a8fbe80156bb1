"""The registry of interceptors: order, kinds, versions, figures."""

from typing import Any

import pytest
import trio

from trio_kafka.controls.interceptors import RecordingOwner
from trio_kafka.model import code_of
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.requests.api import api, api_of
from trio_kafka.requests.interceptors.registry import Interceptors
from trio_kafka.requests.registry import Registry
from trio_kafka.requests.routes import Routes
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse, WaitRequest


@api(EchoRequest)
def echo(request: object, context: object) -> None: ...


@api(WaitRequest)
def wait(request: object, context: object) -> None: ...


def plain(*arguments: object) -> None: ...


async def waiting(*arguments: object) -> None: ...


class Waiting:
    async def __call__(self, *arguments: object) -> None: ...


def registry() -> Registry:
    apis = Registry()
    for handler in (echo, wait):
        result = api_of(handler)
        assert result is not None
        apis.add(result)
    return apis


def chain(interceptors: Interceptors, handler: Any) -> list[int]:
    result = api_of(handler)
    assert result is not None
    return [interception.order for interception in interceptors.of(result)]


def test_interceptors_of_an_api_and_of_all_apis_are_sorted_by_order() -> None:
    interceptors, owner = Interceptors(registry()), RecordingOwner()
    for order, request in ((7, EchoRequest), (3, None), (5, WaitRequest), (3, EchoRequest)):
        interceptors.add("before", request, plain, order=order, owner=owner)
    last = interceptors.add("after", EchoRequest, plain, order=9, owner=owner)

    assert chain(interceptors, echo) == [3, 3, 7, 9]
    assert [interception.key for interception in interceptors.of(api_of(echo))][:2] == [None, 10100]
    assert chain(interceptors, wait) == [3, 5]
    interceptors.remove(last)
    interceptors.remove(last)
    assert chain(interceptors, echo) == [3, 3, 7]


def test_routes_are_rebuilt_when_an_interceptor_is_added_or_removed() -> None:
    apis = registry()
    interceptors, routes = Interceptors(apis), Routes(apis)
    first = routes[code_of(10100, 0)]
    assert routes[code_of(10100, 0)] is first
    apis.cache["answer"] = 1

    interception = interceptors.add("before", EchoRequest, plain, order=1, owner=RecordingOwner())
    second = routes[code_of(10100, 0)]
    assert second is not first
    assert apis.cache == {}
    generation = interceptors.generation
    interceptors.remove(interception)
    assert routes[code_of(10100, 0)] is not second
    assert interceptors.generation > generation


@pytest.mark.parametrize("function", [waiting, Waiting()])
@pytest.mark.parametrize("kind", ["before", "after"])
def test_async_function_as_before_or_after_interceptor_is_rejected(
    kind: Any, function: Any
) -> None:
    with pytest.raises(TypeError, match=rf"{kind} is .*: want a plain function"):
        Interceptors(registry()).add(kind, None, function, order=1, owner=RecordingOwner())


def test_plain_function_as_around_interceptor_is_rejected() -> None:
    interceptors = Interceptors(registry())
    with pytest.raises(TypeError, match=r"around is .*: want an async function"):
        interceptors.add("around", None, plain, order=1, owner=RecordingOwner())
    interceptors.add("around", None, Waiting(), order=1, owner=RecordingOwner())
    assert len(interceptors) == 1


def test_invalid_interceptor_arguments_are_refused_without_effect() -> None:
    apis = registry()
    interceptors, owner = Interceptors(apis), RecordingOwner()
    generation = apis.generation
    with pytest.raises(ValueError, match="one of before, after, around"):
        interceptors.add("beside", None, plain, order=1, owner=owner)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="no request"):
        interceptors.add("before", EchoResponse, plain, order=1, owner=owner)
    with pytest.raises(ValueError, match="limit is 0"):
        interceptors.add("around", None, waiting, order=1, owner=owner, limit=0)
    with pytest.raises(ValueError, match="deadline is 0"):
        interceptors.add("around", None, waiting, order=1, owner=owner, deadline_s=0)
    with pytest.raises(ValueError, match="want a mapping of versions by API key"):
        interceptors.add("before", None, plain, order=1, owner=owner, versions=(0, 1))
    assert len(interceptors) == 0
    assert apis.generation == generation


def test_api_is_offered_in_the_versions_that_all_its_interceptors_support() -> None:
    apis = registry()
    interceptors, routes, owner = Interceptors(apis), Routes(apis), RecordingOwner()

    def offered() -> dict[int, tuple[int, int]]:
        return {entry.key: (entry.first, entry.last) for entry in apis}

    first = interceptors.add("after", EchoRequest, plain, order=1, owner=owner, versions=(1, 9))
    assert offered() == {10100: (1, 1), 10101: (0, 0)}
    assert routes[code_of(10100, 0)] is None
    assert routes[code_of(10100, 1)] is not None
    interceptors.add("before", None, plain, order=1, owner=owner, versions={10101: (0, 0)})
    assert offered() == {10100: (1, 1), 10101: (0, 0)}
    with pytest.raises(ValueError, match="no version of Echo is left: blamed"):
        interceptors.add("before", EchoRequest, plain, order=1, owner=owner, versions=(0, 0))

    interceptors.remove(first)
    assert offered() == {10100: (0, 1), 10101: (0, 0)}
    assert [(entry.first, entry.last) for entry in apis.copy()] == [(0, 1), (0, 0)]


def test_api_added_later_without_a_version_that_its_interceptors_support_is_not_served() -> None:
    apis = Registry()
    interceptors = Interceptors(apis)
    interceptors.add("before", EchoRequest, plain, order=1, owner=RecordingOwner(), versions=(5, 9))
    echo_api = api_of(echo)
    assert echo_api is not None
    apis.add(echo_api)

    assert list(apis) == []
    assert apis.get(10100) is None
    assert ApiVersionsRequest


async def test_inspection_tree_has_a_node_for_each_interceptor_and_its_limit() -> None:
    interceptors = Interceptors(registry())
    shared = trio.CapacityLimiter(3)
    interceptors.add(
        "before", EchoRequest, plain, order=4, owner=RecordingOwner("guard"), deadline_s=0.5
    )
    own = interceptors.add("around", None, waiting, order=5, owner=RecordingOwner("slow"), limit=2)
    with_others = interceptors.add(
        "around", None, waiting, order=5, owner=RecordingOwner("slow"), limit=shared
    )
    node = interceptors._node

    names = [child.name for child in node.children]
    assert names == ["guard before EchoRequest", "slow around every API", "slow around every API"]
    figures = node.children[0].figures()
    assert (figures["owner"], figures["order"], figures["calls"]) == ("guard", 4, 0)
    assert figures["deadline_ms"] == 500
    assert [child.name for child in node.children[1].children] == ["limit"]
    assert own.limiter is not None
    assert own.limiter.total_tokens == 2
    assert with_others.limiter is shared
    interceptors.remove(own)
    assert len(node.children) == 2


def test_version_limits_narrow_an_api_in_addition_to_its_interceptors() -> None:
    apis = registry()
    interceptors = Interceptors(apis)
    interceptors.limit({10100: (0, 0), 10101: (0, -1)})
    result = apis.get(10100)

    assert result is not None
    assert (result.first, result.last) == (0, 0)
    assert apis.get(10101) is None
    interception = interceptors.add(
        "before", EchoRequest, plain, order=0, owner=RecordingOwner(), versions=(0, 1)
    )
    interceptors.remove(interception)
    assert apis.get(10101) is None
    with pytest.raises(ValueError, match="no version of Echo is left"):
        interceptors.add(
            "before", EchoRequest, plain, order=0, owner=RecordingOwner(), versions=(1, 1)
        )
    interceptors.limit({})
    assert apis.get(10101) is not None
