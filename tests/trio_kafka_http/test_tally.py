"""What is counted of requests, and how they are named in the tree."""

from typing import Any

import pytest

from tests.trio_kafka_http.kit import Caller, front_of, hello
from trio_kafka.testing.asgi import ask


async def test_requests_are_counted_by_mount_and_status() -> None:
    front = front_of({"/hello": hello})

    await ask(front, "GET", "/hello/1")
    await ask(front, "GET", "/hello/2")
    await ask(front, "GET", "/secret-of-a-stranger")

    value = front.counters.value
    assert value("http_requests", mount="/hello", status="200") == 2
    assert value("http_requests", mount="-", status="404") == 1
    assert front.tally.figures() == {
        "in_flight": 0,
        "requests": 3,
        "status_200": 2,
        "status_404": 1,
    }


async def test_a_request_is_a_node_under_its_connection_without_its_query() -> None:
    caller, seen = Caller(), []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        (node,) = caller.node.children
        seen.append((node.name, dict(node.figures())))
        await hello(scope, receive, send)

    await ask(front_of({"/app": app}, caller=caller), "GET", "/app/%0a" + "x" * 200 + "?token=t")

    [(name, figures)] = seen
    assert name == "GET /app/?" + "x" * 74
    assert (figures["mount"], figures["status"], figures["request"]) == ("/app", None, f"{1:016x}")
    assert caller.node.children == ()


async def test_what_was_not_answered_is_counted_too() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        caller.gone = True

    caller = Caller()
    front = front_of({"/app": app}, caller=caller)

    with pytest.raises(Exception, match="GET /app"):
        await ask(front, "GET", "/app")

    assert front.tally.figures()["unanswered"] == 1
