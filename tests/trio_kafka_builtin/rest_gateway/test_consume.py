"""Records read over HTTP: from where, how many, and for how long they are waited for."""

import base64
from functools import partial

import pytest
import trio
from crc32c import crc32c
from trio.testing import MockClock

from tests.records.kit import encode_batch, encode_marker
from tests.trio_kafka_builtin.mask.kit import batch, produce
from tests.trio_kafka_builtin.rest_gateway.kit import gateway
from trio_kafka.records.batch import Record
from trio_kafka.records.compression import Codec
from trio_kafka.records.control import Marker
from trio_kafka.replication.leader.append import append_own
from trio_kafka_builtin.rest_gateway import app, consume
from trio_kafka_builtin.rest_gateway.answer_memory import AnswerMemory


async def test_records_are_returned_from_the_offset_with_the_next_offset(
    autojump_clock: MockClock,
) -> None:
    header = {"name": "h", "value": base64.b64encode(b"\xff").decode()}
    async with gateway() as rest:
        await rest.served.create_topic("t")
        await rest.produce(
            "t", *({"key": n, "value": n, "timestamp": 7, "headers": [header]} for n in range(5))
        )
        result = await rest.consume("t", "offset=3")
        rest_of_it = await rest.consume("t", f"offset={result['next_offset']}")

    assert result["records"][0] == {
        "offset": 3,
        "timestamp": 7,
        "key": 3,
        "value": 3,
        "headers": [header],
    }
    assert [record["offset"] for record in result["records"]] == [3, 4]
    assert (result["next_offset"], result["high_watermark"], result["start_offset"]) == (5, 5, 0)
    assert rest_of_it["records"] == []


@pytest.mark.parametrize("codec", list(Codec))
async def test_batches_compressed_with_every_codec_are_read_over_http(
    codec: Codec, autojump_clock: MockClock
) -> None:
    async with gateway() as rest:
        await rest.served.create_topic("t")
        await produce(rest.served, "t", batch(*range(300), codec=codec))
        result = await rest.consume("t")

    assert [record["value"] for record in result["records"]] == list(range(300))


async def test_max_bytes_limits_a_response_but_at_least_one_batch_is_returned(
    autojump_clock: MockClock,
) -> None:
    async with gateway() as rest:
        await rest.served.create_topic("t")
        for value in ("a" * 100, "b" * 100):
            await rest.produce("t", {"value": value})
        result = await rest.consume("t", "max_bytes=1")

    assert [record["offset"] for record in result["records"]] == [0]


async def test_a_long_poll_is_answered_at_the_next_record_or_the_timeout(
    autojump_clock: MockClock,
) -> None:
    async with gateway() as rest:
        await rest.served.create_topic("t")
        began = trio.current_time()
        nothing = await rest.consume("t", "wait_ms=3000")
        waited = trio.current_time() - began
        result = []

        async def wait() -> None:
            result.append((await rest.consume("t", "wait_ms=20000"), trio.current_time()))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            await trio.sleep(2)
            await rest.produce("t", {"value": 1})
            came = trio.current_time()
        watchers = rest.served.broker.purgatories.fetch.watchers

    assert nothing["records"] == []
    assert 2.9 < waited < 3.5
    assert result[0][1] - came < 0.5
    assert [record["value"] for record in result[0][0]["records"]] == [1]
    assert not watchers


async def test_a_record_that_is_not_json_is_returned_as_base64_with_a_reason(
    autojump_clock: MockClock,
) -> None:
    async with gateway() as rest:
        await rest.served.create_topic("t")
        await rest.produce("t", {"key": "k", "value": '{"n": NaN}'}, format="string")
        await rest.produce("t", {"value": {"n": 1}})
        json = await rest.consume("t")
        text = await rest.consume("t", "format=string")
        binary = await rest.consume("t", "format=binary")

    unreadable, fine = json["records"]
    assert "key" not in unreadable
    assert "value" not in unreadable
    assert base64.b64decode(unreadable["value_base64"]) == b'{"n": NaN}'
    assert unreadable["value_error"] == "not JSON: NaN is not a number of JSON"
    assert fine["value"] == {"n": 1}
    assert json["next_offset"] == 2
    assert (text["records"][0]["key"], text["records"][0]["value"]) == ("k", '{"n": NaN}')
    assert base64.b64decode(binary["records"][0]["value"]) == b'{"n": NaN}'


async def test_a_header_name_that_is_not_utf_8_is_shown_with_a_replacement_character(
    autojump_clock: MockClock,
) -> None:
    record = Record(timestamp=1, value=b"1", headers=[("name", b"v")])
    renamed = bytearray(encode_batch([record]).replace(b"name", b"n\xffme"))
    renamed[17:21] = crc32c(renamed[21:]).to_bytes(4, "big")
    async with gateway() as rest:
        await rest.served.create_topic("t")
        await produce(rest.served, "t", bytes(renamed))
        result = await rest.consume("t")

    assert result["records"][0]["headers"] == [{"name": "n\ufffdme", "value": "dg=="}]


async def test_control_records_are_skipped_in_http_responses(autojump_clock: MockClock) -> None:
    marker = encode_marker(
        Marker(committed=True, coordinator_epoch=1), producer_id=1, producer_epoch=0, timestamp=5
    )
    async with gateway() as rest:
        await rest.served.create_topic("t")
        await rest.produce("t", {"value": 1})
        partition = rest.served.broker.replicas.partition("t", 0)
        append_own(partition, memoryview(bytearray(marker)), acks=1)
        await rest.produce("t", {"value": 2})
        result = await rest.consume("t")

    assert [(record["offset"], record["value"]) for record in result["records"]] == [(0, 1), (2, 2)]
    assert result["next_offset"] == 3


@pytest.mark.parametrize(("bound", "most", "shown"), [("_MOST_ROWS", 7, 7), ("_UNPACKED", 900, 10)])
async def test_a_response_stops_at_the_row_or_size_bound_with_the_next_offset(
    bound: str, most: int, shown: int, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consume, bound, most)
    async with gateway() as rest:
        await rest.served.create_topic("t")
        for begin in (0, 5, 10):
            values = ["x" * 100 + str(number) for number in range(begin, begin + 5)]
            await produce(rest.served, "t", batch(*values, codec=Codec.ZSTD))
        first = await rest.consume("t")
        second = await rest.consume("t", f"offset={first['next_offset']}")

    assert [record["offset"] for record in first["records"]] == list(range(shown))
    assert first["next_offset"] == shown
    assert second["records"][0]["offset"] == shown


async def test_answers_end_early_when_those_under_way_take_too_much_memory(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "AnswerMemory", partial(AnswerMemory, 5000))
    async with gateway() as rest:
        await rest.served.create_topic("t")
        await rest.produce("t", *({"value": n} for n in range(20)))
        offsets, next_offset = [], 0
        while next_offset < 20:
            answer = await rest.consume("t", f"offset={next_offset}")
            assert 0 < len(answer["records"]) < 6
            offsets += [record["offset"] for record in answer["records"]]
            next_offset = answer["next_offset"]

    assert offsets == list(range(20))


async def test_headers_without_end_are_counted_and_not_shown(autojump_clock: MockClock) -> None:
    few, many = ([("h", b"x")] * count for count in (1000, 1001))
    async with gateway() as rest:
        await rest.served.create_topic("t")
        for headers in (few, many):
            data = encode_batch([Record(0, 0, None, b"1", tuple(headers))], codec=Codec.ZSTD)
            await produce(rest.served, "t", data)
        answer = await rest.consume("t")

    shown, hidden = answer["records"]
    assert len(shown["headers"]) == 1000
    assert "headers_error" not in shown
    assert hidden["headers"] == []
    assert hidden["headers_error"] == "1001 headers, at most 1000 are shown"
    assert hidden["value"] == 1
