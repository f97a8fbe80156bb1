"""Routes, limits and errors; what goes around interceptors is refused."""

import json

import pytest
import trio
from trio.testing import MockClock

from tests.trio_kafka_builtin.rest_gateway.kit import gateway
from trio_kafka_builtin.audit.plugin import audit
from trio_kafka_builtin.mask.plugin import mask
from trio_kafka_builtin.rest_gateway.app import STATUS


@pytest.mark.parametrize(
    ("method", "target", "status", "error"),
    [
        ("GET", "/v1/else", 404, None),
        ("PUT", "/v1/topics", 405, None),
        ("GET", "/v1/topics/none", 404, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("DELETE", "/v1/topics/none", 404, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("GET", "/v1/topics/t/partitions/7/records", 404, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("GET", "/v1/topics/t/partitions/0/records?offset=9", 416, "OFFSET_OUT_OF_RANGE"),
        ("GET", "/v1/topics/t/partitions/0/records?offset=-1", 400, None),
        ("GET", "/v1/topics/t/partitions/x/records", 400, None),
        ("GET", "/v1/topics/t/partitions/0/records?max_bytes=0", 400, None),
        ("GET", "/v1/topics/t/partitions/0/records?wait_ms=99999999", 400, None),
        ("GET", "/v1/topics/t/partitions/0/records?format=avro", 400, "INVALID_REQUEST"),
    ],
)
async def test_errors_have_a_status_and_kafkas_name(
    method: str, target: str, status: int, error: str | None, autojump_clock: MockClock
) -> None:
    async with gateway() as rest:
        await rest.served.create_topic("t")
        told = await rest.json(method, target, status=status)

    assert told["error_code"] == status
    assert told.get("kafka_error") == error


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"records":1}', b'{"records":[1]}'],
)
async def test_a_body_that_is_not_what_is_wanted_is_refused(
    body: bytes, autojump_clock: MockClock
) -> None:
    async with gateway() as rest:
        await rest.served.create_topic("t")
        answer = await rest.ask("POST", "/v1/topics/t/records", body)

    assert answer.status == 400


async def test_a_body_over_the_limit_is_refused(autojump_clock: MockClock) -> None:
    async with gateway(max_body_bytes="100") as rest:
        fits = await rest.ask("POST", "/v1/topics", b"{" + b" " * 99)
        large = await rest.ask("POST", "/v1/topics", b"{" + b" " * 100)

    assert (fits.status, large.status) == (400, 413)


async def test_more_requests_than_the_limit_are_told_to_wait(autojump_clock: MockClock) -> None:
    async with gateway(max_requests="1") as rest:
        await rest.served.create_topic("t")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(rest.consume, "t", "wait_ms=5000")
            await trio.sleep(1)
            refused = await rest.ask("GET", "/v1/topics")
        served = await rest.ask("GET", "/v1/topics")

    assert refused.status == 503
    assert refused.headers["retry-after"] == "1"
    assert served.status == 200


async def test_what_another_plugin_masks_cannot_be_read_past_it(autojump_clock: MockClock) -> None:
    masks = {"plugin.mask.enabled": "true", "plugin.mask.rules": "t: a=redact"}
    async with gateway(mask, more=masks) as rest:
        await rest.served.create_topic("t")
        await rest.produce("t", {"value": {"a": 1}})
        refused = await rest.ask("GET", "/v1/topics/t/partitions/0/records")

    assert refused.status == 403
    assert b"mask" in refused.body


async def test_what_is_audited_cannot_be_done_past_it_unless_it_is_allowed(
    autojump_clock: MockClock,
) -> None:
    audits = {"plugin.audit.enabled": "true"}
    for allowed, status in (("false", 403), ("true", 201)):
        async with gateway(audit, more=audits, beside_interceptors=allowed) as rest:
            answer = await rest.ask("POST", "/v1/topics", {"name": "t"})

        assert answer.status == status


async def test_the_openapi_document_names_what_is_served(autojump_clock: MockClock) -> None:
    async with gateway() as rest:
        await rest.served.create_topic("t")
        document = await rest.json("GET", "/v1/openapi.json")
        for path, operations in document["paths"].items():
            target = "/v1" + path.replace("{topic}", "none").replace("{partition}", "0")
            for method in ("get", "post", "put", "delete"):
                answer = await rest.ask(method.upper(), target, {})
                assert (answer.status == 405) == (method not in operations), (method, path)
                parameters = operations.get(method, {}).get("parameters", [])
                named = {one["name"] for one in parameters if one["in"] == "path"}
                assert method not in operations or named == {
                    one.strip("{}") for one in path.split("/") if one.startswith("{")
                }
    assert json.dumps(document).count("#/components/schemas/Topic") == 1


def test_no_error_is_mapped_to_a_success() -> None:
    assert all(400 <= status < 600 for status in STATUS.values())
