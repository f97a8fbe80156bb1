"""`@api`: properties taken from the message, and messages that it refuses."""

import pytest

from trio_kafka.protocol.schema import int16, int32, request, response
from trio_kafka.requests.api import api, api_of
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse


@request(key=10110, versions="2-6", flexible="none", unstable="5-6")
class UnsteadyRequest:
    number: int = int32()


@response(UnsteadyRequest)
class UnsteadyResponse:
    error_code: int = int16()


@request(key=10111, versions="0")
class LonelyRequest:
    """Has no response."""

    number: int = int32()


def test_api_has_key_name_and_versions_of_its_request_message() -> None:
    @api(EchoRequest)
    def echo(request: object, context: object) -> None: ...

    echo_api = api_of(echo)
    assert echo_api is not None
    assert (echo_api.key, echo_api.name, echo_api.first, echo_api.last) == (10100, "Echo", 0, 1)
    assert echo_api.response is EchoResponse
    assert echo_api.handler is echo
    assert echo_api.source == __name__
    assert not echo_api.waits


def test_api_of_an_async_handler_waits() -> None:
    @api(EchoRequest)
    async def echo(request: object, context: object) -> None: ...

    echo_api = api_of(echo)
    assert echo_api is not None
    assert echo_api.waits


@pytest.mark.parametrize(
    ("arguments", "versions"),
    [
        ({}, (2, 4, 6)),
        ({"unstable": True}, (2, 6, 6)),
        ({"first": 3}, (3, 4, 6)),
        ({"last": 3}, (2, 3, 3)),
        ({"last": 5}, (2, 4, 5)),
        ({"first": 0, "last": 99}, (2, 4, 6)),
    ],
)
def test_unstable_versions_of_an_api_are_served_only_when_enabled(
    arguments: dict[str, int], versions: tuple[int, int, int]
) -> None:
    @api(UnsteadyRequest, **arguments)  # type: ignore[arg-type]
    def handler(request: object, context: object) -> None: ...

    served_api = api_of(handler)
    assert served_api is not None
    assert (served_api.first, served_api.last, served_api.newest) == versions
    first, _, newest = versions
    for unstable in (served_api.with_unstable(), served_api.listing.with_unstable()):
        assert (unstable.first, unstable.last, unstable.newest) == (first, newest, newest)


def test_api_decorator_rejects_messages_that_cannot_be_served() -> None:
    with pytest.raises(TypeError, match="no request with a response"):
        api(LonelyRequest)
    with pytest.raises(TypeError, match="no version from 5 to 4"):
        api(UnsteadyRequest, first=5)
    with pytest.raises(TypeError, match="is not a message"):
        api(int)


def test_function_without_api_decorator_is_no_handler() -> None:
    assert api_of(len) is None
