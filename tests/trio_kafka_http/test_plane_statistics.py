"""Counts of requests, and their names in the tree."""

from typing import Any

import pytest

from tests.trio_kafka_http.kit import Caller, dispatcher_of, hello
from trio_kafka.testing.asgi import ask


async def test_http_requests_are_counted_by_mount_and_status() -> None:
    dispatcher = dispatcher_of({"/hello": hello})

    await ask(dispatcher, "GET", "/hello/1")
    await ask(dispatcher, "GET", "/hello/2")
    await ask(dispatcher, "GET", "/secret-of-a-stranger")

    value = dispatcher.counters.value
    assert value("http_requests", mount="/hello", status="200") == 2
    assert value("http_requests", mount="-", status="404") == 1
    assert dispatcher.statistics.figures() == {
        "in_flight": 0,
        "requests": 3,
        "status_200": 2,
        "status_404": 1,
    }


async def test_request_is_a_tree_node_below_its_connection_without_the_query() -> None:
    caller, seen = Caller(), []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        (node,) = caller.node.children
        seen.append((node.name, dict(node.figures())))
        await hello(scope, receive, send)

    await ask(
        dispatcher_of({"/app": app}, caller=caller), "GET", "/app/%0a" + "x" * 200 + "?token=t"
    )

    [(name, figures)] = seen
    assert name == "GET /app/?" + "x" * 74
    assert (figures["mount"], figures["status"], figures["request"]) == ("/app", None, f"{1:016x}")
    assert caller.node.children == ()


async def test_unanswered_request_is_counted() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        caller.gone = True

    caller = Caller()
    dispatcher = dispatcher_of({"/app": app}, caller=caller)

    with pytest.raises(Exception, match="GET /app"):
        await ask(dispatcher, "GET", "/app")

    assert dispatcher.statistics.figures()["unanswered"] == 1
