"""Bodies of requests to the apps of these plugins, and of their answers."""

import json
from contextlib import suppress
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.strict_json import dump_json, parse_json
from trio_kafka_http.asgi_json import HttpError, InFlight, read_json, send_json


def receiving(*messages: dict[str, Any]) -> Any:
    remaining = list(messages)

    async def receive() -> Any:
        return remaining.pop(0)

    return receive


def piece(body: bytes, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


async def test_json_body_in_several_pieces_is_read() -> None:
    receive = receiving(piece(b'{"a"', more=True), piece(b": 1}"))

    assert await read_json(receive, 8) == {"a": 1}


@pytest.mark.parametrize(
    ("messages", "status", "why"),
    [
        ([piece(b"[1,", more=True), piece(b"2]")], 413, "larger than 4"),
        ([piece(b"[", more=True), {"type": "http.disconnect"}], 400, "has left"),
        ([piece(b"[")], 400, "not JSON"),
        ([piece(b"\xff")], 400, "not JSON"),
        ([piece(b"NaN")], 400, "not JSON"),
    ],
)
async def test_invalid_json_body_is_refused_with_its_status(
    messages: list[Any], status: int, why: str
) -> None:
    with pytest.raises(HttpError, match=why) as raised:
        await read_json(receiving(*messages), 4)

    assert raised.value.status == status


async def test_too_deeply_nested_json_body_is_refused() -> None:
    with pytest.raises(HttpError, match="not JSON"):
        await read_json(receiving(piece(b"[" * 100_000)), 1_000_000)


# --- answers

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


async def sent(*arguments: Any, **more: Any) -> list[dict[str, Any]]:
    """The messages of `send_json`."""
    messages: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        messages.append(message)

    await send_json(send, *arguments, **more)
    return messages


def text_of(messages: list[dict[str, Any]]) -> str:
    return b"".join(message["body"] for message in messages[1:]).decode()


def check_ends(messages: list[dict[str, Any]]) -> None:
    """Only the last message is the last one."""
    *others, last = messages[1:]
    assert all(other["more_body"] for other in others)
    assert not last["more_body"]


@pytest.mark.slow
@given(
    st.dictionaries(
        st.text(),
        VALUES
        | st.lists(VALUES, max_size=8)
        | st.lists(st.integers(), max_size=9).map(lambda some: some * 60),
        max_size=5,
    )
)
def test_json_response_in_pieces_equals_a_single_dump(body: dict[str, Any]) -> None:
    messages = trio.run(sent, 200, body)

    assert text_of(messages) == dump_json(body)
    check_ends(messages)


async def test_short_json_response_is_one_body_message_after_its_head() -> None:
    start, body = await sent(201, {"a": [1, 2], "b": ()}, headers=[(b"retry-after", b"1")])

    assert start["status"] == 201
    assert start["headers"] == [
        (b"content-type", b"application/json"),
        (b"cache-control", b"no-store"),
        (b"retry-after", b"1"),
    ]
    assert body["body"] == b'{"a": [1, 2], "b": []}'
    check_ends([start, body])


async def test_numbers_without_a_json_form_are_sent_as_strings() -> None:
    messages = await sent(200, {"a": [float("nan"), 1], "b": float("-inf"), "c": "\ud800"})

    assert parse_json(text_of(messages)) == {"a": ["NaN", 1], "b": "-Infinity", "c": "\ufffd"}


async def test_empty_response_has_no_content_type() -> None:
    start, body = await sent(204, None)

    assert (start["status"], start["headers"]) == (204, [(b"cache-control", b"no-store")])
    assert body["body"] == b""
    check_ends([start, body])


async def test_response_to_head_has_the_same_headers_and_no_body() -> None:
    whole = await sent(200, {"a": list(range(1000))})
    start, body = await sent(200, {"a": list(range(1000))}, head_only=True)

    assert start == whole[0]
    assert body["body"] == b""
    check_ends([start, body])


class Turns(trio.abc.Instrument):
    """How often a task has run."""

    def __init__(self, task: Any) -> None:
        self.task = task
        self.count = 0

    def before_task_step(self, task: Any) -> None:
        self.count += task is self.task


@pytest.mark.parametrize(
    ("body", "pieces"),
    [
        ({"rows": [{"text": "x" * 480}] * 5000, "next": None}, 50),
        ({"rows": list(range(5000))}, 50),
        ({"a": list(range(350)), "b": "text", "c": list(range(350))}, 7),
        ({"large": ["x" * 100_000] * 3, "next": 1}, 3),
        ({"large": ["x" * 30_000] * 4}, 2),
    ],
)
async def test_other_tasks_run_between_the_pieces_of_a_long_response(
    body: dict[str, Any], pieces: int
) -> None:
    turns = Turns(trio.lowlevel.current_task())
    trio.lowlevel.add_instrument(turns)
    try:
        messages = await sent(200, body)
    finally:
        trio.lowlevel.remove_instrument(turns)

    assert text_of(messages) == json.dumps(body)
    assert [len(message["body"]) < 110_000 for message in messages[1:]] == [True] * (pieces + 1)
    assert turns.count == pieces
    check_ends(messages)


def test_requests_in_flight_are_counted_during_their_block() -> None:
    in_flight = InFlight(2)
    with in_flight:
        assert not in_flight.full
        with suppress(ValueError), in_flight:
            assert in_flight.full
            raise ValueError("one fails")
        assert in_flight.figures() == {"depth": 1, "bound": 2, "high_water": 2, "items": 1}

    assert in_flight.figures() == {"depth": 0, "bound": 2, "high_water": 2, "items": 2}
