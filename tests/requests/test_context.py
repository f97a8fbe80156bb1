"""What a handler sees."""

from typing import Any

import attrs
import pytest

from trio_kafka.requests.context import Context
from trio_kafka.requests.parts import Parts
from trio_kafka.requests.registry import Registry
from trio_kafka.testing.planes import bare_request


class Peer:
    """A connection, as far as a context is concerned."""

    peer = ("there", 1)

    class listener:  # noqa: N801 - stands for an attribute
        name = "CLIENTS"


def context() -> Context:
    request = bare_request(7, Peer())
    request.client_id = "me"
    return Context(request, Parts(apis=Registry(), cluster_id="c-1"))


def test_a_context_knows_request_and_connection() -> None:
    one = context()

    assert (one.version, one.correlation, one.client_id) == (0, 7, "me")
    assert (one.listener, one.peer) == ("CLIENTS", ("there", 1))
    assert one.connection is one.request.connection


def test_every_part_is_an_attribute_of_a_context() -> None:
    one = context()

    for field in attrs.fields(Parts):
        assert getattr(one, field.name) is getattr(one.parts, field.name)
    assert one.cluster_id == "c-1"
    one.parts.cluster_id = "c-2"
    assert one.cluster_id == "c-2"


async def test_a_plain_handler_cannot_wait() -> None:
    async def wait() -> Any: ...

    with pytest.raises(RuntimeError, match="return a Delayed"):
        await context().parked(wait)
