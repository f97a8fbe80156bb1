"""An answer's way to the client, and what is left of a body."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.trio_kafka_http.kit import Caller, start
from trio_kafka_http.request_cycle import ClientGoneError, RequestCycle


def exchange_of(
    coming: list[dict[str, Any]], *, most_body: int = 100, caller: Caller | None = None
) -> tuple[RequestCycle, list[Any]]:
    sent: list[Any] = []

    async def receive() -> Any:
        await trio.lowlevel.checkpoint()
        return coming.pop(0) if coming else await trio.sleep_forever()

    async def send(message: Any) -> None:
        await trio.lowlevel.checkpoint()
        sent.append(message)

    cycle = RequestCycle(
        request_id="id-1",
        receive=receive,
        send=send,
        peer=caller or Caller(),
        most_body=most_body,
    )
    return cycle, sent


def piece(body: bytes, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


async def test_response_head_is_sent_with_the_first_body_bytes() -> None:
    cycle, sent = exchange_of([piece(b"")])

    await cycle.receive()
    await start(cycle.send, 201)
    assert (sent, cycle.begun) == ([], False)
    await cycle.send({"type": "http.response.body", "body": b"a", "more_body": True})

    assert [row["type"] for row in sent] == ["http.response.start", "http.response.body"]
    assert (cycle.status, cycle.ended) == (201, False)


async def test_refusal_is_sent_before_the_rest_of_the_request_body_is_read() -> None:
    cycle, sent = exchange_of([piece(b"1", more=True), piece(b"2", more=True), piece(b"3")])

    await cycle.refuse(404, "nothing is here")

    head, body, end = sent
    length = dict(head["headers"])[b"content-length"]
    assert (len(body["body"]), body["more_body"]) == (int(length), True)
    assert end == {"type": "http.response.body", "body": b"", "more_body": False}
    assert cycle.ended


async def test_client_that_does_not_end_its_body_is_disconnected(autojump_clock: MockClock) -> None:
    caller = Caller()
    cycle, _ = exchange_of([piece(b"1", more=True)], caller=caller)

    await cycle.refuse(404, "nothing is here")

    assert (trio.current_time(), caller.aborted, cycle.ended) == (2.0, 1, True)


async def test_client_that_keeps_sending_its_body_is_disconnected_at_the_limit() -> None:
    caller = Caller()
    coming = [piece(bytes(50), more=True) for _ in range(50)]
    cycle, _ = exchange_of(coming, caller=caller, most_body=100)

    await cycle.refuse(404, "nothing is here")

    assert (len(coming), caller.aborted) == (45, 1)


async def test_refusal_after_a_response_has_begun_sends_nothing() -> None:
    cycle, sent = exchange_of([piece(b"")])
    await cycle.receive()
    await cycle.answer(200, {})
    before = list(sent)

    await cycle.refuse(500, "late")

    assert sent == before


async def test_response_body_for_a_client_that_left_raises_client_gone() -> None:
    cycle, sent = exchange_of([{"type": "http.disconnect"}])
    await cycle.receive()

    await start(cycle.send)
    with pytest.raises(ClientGoneError):
        await cycle.send({"type": "http.response.body", "body": b"a"})

    assert (sent, cycle.gone) == ([], True)


@pytest.mark.parametrize(
    ("coming", "starved"), [([piece(b"a", more=True)], True), ([piece(b"a")], False)]
)
async def test_wait_for_the_clients_body_is_distinguished_from_other_waits(
    autojump_clock: MockClock, coming: list[dict[str, Any]], starved: bool
) -> None:
    cycle, _ = exchange_of(coming)

    with trio.move_on_after(1):
        while True:
            await cycle.receive()

    assert cycle.starved is starved


async def test_refusal_for_a_client_that_left_sends_nothing() -> None:
    cycle, sent = exchange_of([{"type": "http.disconnect"}])
    await cycle.receive()

    await cycle.refuse(404, "nothing is here")

    assert sent == []
    assert not cycle.begun


async def test_response_that_closes_the_connection_begins_after_the_whole_body() -> None:
    cycle, sent = exchange_of([piece(b"1", more=True), piece(b"2")])

    await cycle.refuse(400, "ambiguous", closes=True)

    # With a body still to come there would be three messages: the last one waits for its end.
    head, body = sent
    assert (b"connection", b"close") in head["headers"]
    assert not body["more_body"]
    assert cycle.ended


async def test_response_that_closes_the_connection_is_sent_if_the_body_never_ends(
    autojump_clock: MockClock,
) -> None:
    caller = Caller()
    cycle, sent = exchange_of([piece(b"1", more=True)], caller=caller)

    await cycle.refuse(400, "ambiguous", closes=True)

    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert (trio.current_time(), caller.aborted) == (4.0, 1)


@pytest.mark.parametrize(
    ("own", "sent_value"), [((), b"nosniff"), ([(b"x-content-type-options", b"own")], b"own")]
)
async def test_every_response_forbids_browsers_to_guess_the_type_of_its_body(
    own: list[tuple[bytes, bytes]], sent_value: bytes
) -> None:
    cycle, sent = exchange_of([piece(b"")])
    await cycle.receive()

    await start(cycle.send, 200, *own)
    await cycle.send({"type": "http.response.body", "body": b"<script>"})

    values = [value for name, value in sent[0]["headers"] if name == b"x-content-type-options"]
    assert values == [sent_value]
