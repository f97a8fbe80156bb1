"""Every answer that can tells how long to wait, in every version, also if it is bytes already."""

from collections.abc import Iterator
from typing import Any, cast

from tests.lanes import together
from tests.protocol.declared import classes
from trio_kafka.protocol.compiler import decoder, to_bytes
from trio_kafka.protocol.errors import EncodeError
from trio_kafka.protocol.schema import fields_of, message_of
from trio_kafka.protocol.versions import covers
from trio_kafka.requests.api import api, api_of
from trio_kafka.requests.replies import Encoded, Route, make_route
from trio_kafka.requests.throttling.charging import THROTTLE_TIME, Charge, charged
from trio_kafka.requests.throttling.throttle import unlimited
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse


def requests() -> Iterator[type[Any]]:
    for kind in classes():
        message = message_of(kind)
        if message.kind == "request" and message.response is not None:
            yield kind


def route_of(request: type[Any], version: int) -> Route:
    @api(request, unstable=True)
    def handler(request: object, context: object) -> None: ...

    handler_api = api_of(handler)
    assert handler_api is not None
    return make_route(handler_api, version)


def charge_of(route: Route) -> Charge:
    assert isinstance(route.charge, Charge)
    return route.charge


def telling(route: Route, response: Any) -> Any:
    """The response as a client reads it, that tells 1234 ms where it can."""
    charge = charge_of(route)
    reply = charge.with_throttle_time(response, 1234) if charge.has_throttle_time else response
    body = reply.body if isinstance(reply, Encoded) else to_bytes(reply, route.version)
    return decoder(route.api.response, route.version)(memoryview(body), 0)[0]


@together(requests(), label=lambda cls: cls.__name__)
def test_throttle_time_is_set_in_every_response_version_that_has_the_field(
    request_: type[Any],
) -> None:
    message = message_of(request_)
    assert message.response is not None
    for version in range(message.versions[0], message.versions[1] + 1):
        route = charged(route_of(request_, version), unlimited())
        response = message.response()
        try:
            body = to_bytes(response, version)
        except EncodeError:
            continue  # what must be said has no default
        fields = {field.name: field for field in fields_of(message.response)}
        has = THROTTLE_TIME in fields and covers(fields[THROTTLE_TIME].versions, version)
        before = decoder(message.response, version)(memoryview(body), 0)[0]

        said = Encoded(body, {3: 1})
        charge = charge_of(route)
        if charge.has_throttle_time:
            assert charge.with_throttle_time(said, 1234).errors == said.errors
        for answer in (response, said):
            read = telling(route, answer)
            assert getattr(read, THROTTLE_TIME, 0) == (1234 if has else 0)
            if has:
                read.throttle_time_ms = before.throttle_time_ms
            assert read == before
        assert getattr(response, THROTTLE_TIME, 0) == 0  # others may share it


def test_a_charged_route_calls_the_same_handler() -> None:
    plain = route_of(EchoRequest, 1)

    assert charged(plain, unlimited()).handler is plain.handler


def test_response_without_a_throttle_time_field_is_unchanged() -> None:
    route = charged(route_of(EchoRequest, 1), unlimited())
    answer = EchoResponse(text="a")
    assert not charge_of(route).has_throttle_time
    assert cast("Any", telling(route, answer)) == answer
