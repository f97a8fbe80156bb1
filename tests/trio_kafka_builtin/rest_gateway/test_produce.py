"""Records written over HTTP, as Kafka's clients read them."""

from typing import Any

import pytest
from trio.testing import MockClock

from tests.requests.request_log.test_sinks import values
from tests.trio_kafka_builtin.rest_gateway.kit import gateway
from trio_kafka_builtin.rest_gateway.produce import MOST


async def test_each_produced_record_gets_its_partition_and_offset(
    autojump_clock: MockClock,
) -> None:
    async with gateway() as rest:
        await rest.served.create_topic("t", 2)
        first = await rest.produce(
            "t",
            {"partition": 1, "value": {"a": 1}},
            {"partition": 0, "value": [True, None]},
            {"partition": 1, "value": "é"},
        )
        second = await rest.produce("t", {"partition": 1, "value": 2}, acks=1)
        stored = await values(rest.served, "t", 1)

    assert [(row["partition"], row["offset"]) for row in first] == [(1, 0), (0, 0), (1, 1)]
    assert second == [{"partition": 1, "offset": 2}]
    assert stored == ['{"a":1}', '"é"', "2"]


async def test_an_error_of_one_partition_affects_only_its_records(
    autojump_clock: MockClock,
) -> None:
    async with gateway() as rest:
        await rest.served.create_topic("t", 2, {"max.message.bytes": "200"})
        rows = await rest.produce(
            "t", {"partition": 0, "value": "x" * 300}, {"partition": 1, "value": "y"}
        )

    assert rows[0]["error"] == "MESSAGE_TOO_LARGE"
    assert rows[0]["offset"] is None
    assert rows[1]["offset"] == 0


async def test_records_with_equal_keys_go_to_the_same_partition(
    autojump_clock: MockClock,
) -> None:
    async with gateway() as rest:
        await rest.served.create_topic("t", 8)
        keyed = await rest.produce("t", *({"key": "k", "value": n} for n in range(5)))
        spread = await rest.produce("t", *({"key": n, "value": n} for n in range(50)))

    assert len({row["partition"] for row in keyed}) == 1
    assert len({row["partition"] for row in spread}) > 4


async def test_records_up_to_the_maximum_are_produced_and_more_are_refused(
    autojump_clock: MockClock,
) -> None:
    async with gateway() as rest:
        await rest.served.create_topic("t")
        rows = await rest.produce("t", *([{}] * MOST))
        nothing = await rest.produce("t")
        body = {"records": [{}] * (MOST + 1)}
        refused = await rest.ask("POST", "/v1/topics/t/records", body)

    assert [row["offset"] for row in rows] == list(range(MOST))
    assert nothing == []
    assert refused.status == 413


@pytest.mark.parametrize(
    ("record", "more", "status"),
    [
        ({"value": "x", "partition": 9}, {}, 404),
        ({"value": "x", "partition": "0"}, {}, 404),
        ({"value": "x", "timestamp": "now"}, {}, 400),
        ({"value": "x", "timestamp": -1}, {}, 400),
        ({"value": "x", "headers": {}}, {}, 400),
        ({"value": "x", "headers": [{"name": "n", "value": "!"}]}, {}, 422),
        ({"value": "!"}, {"format": "binary"}, 422),
        ({"value": 1}, {"format": "string"}, 422),
        ({"value": "\ud800"}, {}, 400),
        ({"value": "x", "header": []}, {}, 400),
        ({"value": "x"}, {"format": "avro"}, 400),
        ({"value": "x"}, {"acks": 0}, 400),
        ({"value": "x"}, {"acks": True}, 400),
    ],
)
async def test_one_invalid_record_prevents_all_records_from_being_written(
    record: Any, more: dict[str, Any], status: int, autojump_clock: MockClock
) -> None:
    async with gateway() as rest:
        await rest.served.create_topic("t")
        body = {"records": [{"value": "fine"}, record], **more}
        answer = await rest.ask("POST", "/v1/topics/t/records", body)

        assert answer.status == status
        assert await values(rest.served, "t", 0) == []
