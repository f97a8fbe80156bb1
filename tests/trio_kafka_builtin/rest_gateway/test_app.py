"""Routes, limits and errors; interceptors, quotas and metrics see what is asked here."""

import json
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.requests.request_log.test_sinks import values
from tests.trio_kafka_builtin.odd_values import odd_bodies
from tests.trio_kafka_builtin.rest_gateway.kit import gateway
from trio_kafka.controls.interceptors import RecordingOwner
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.plugin import Context
from trio_kafka.protocol.messages.k00_produce import ProduceRequest
from trio_kafka.protocol.messages.k01_fetch import FetchRequest
from trio_kafka.records.batch import Record, encode_batch
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
async def test_http_errors_have_a_status_and_the_kafka_error_name(
    method: str, target: str, status: int, error: str | None, autojump_clock: MockClock
) -> None:
    async with gateway() as rest:
        await rest.served.create_topic("t")
        answer = await rest.json(method, target, status=status)

    assert answer["error_code"] == status
    assert answer.get("kafka_error") == error


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"records":1}', b'{"records":[1]}'],
)
async def test_a_body_that_is_not_a_json_object_with_records_is_refused(
    body: bytes, autojump_clock: MockClock
) -> None:
    async with gateway() as rest:
        await rest.served.create_topic("t")
        answer = await rest.ask("POST", "/v1/topics/t/records", body)

    assert answer.status == 400


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "valid"),
    [
        ("/v1/topics", {"name": "n", "partitions": 1, "configs": {"retention.ms": "5"}}),
        (
            "/v1/topics/t/records",
            {
                "format": "json",
                "acks": 1,
                "records": [
                    {
                        "key": "k",
                        "value": {"a": 1},
                        "partition": 0,
                        "timestamp": 5,
                        "headers": [{"name": "h", "value": "aGk="}],
                    }
                ],
            },
        ),
    ],
)
async def test_a_value_of_a_wrong_type_in_any_field_causes_no_server_error(
    target: str, valid: Any, autojump_clock: MockClock
) -> None:
    async with gateway() as rest:
        await rest.served.create_topic("t")
        for body in odd_bodies(valid):
            answer = await rest.ask("POST", target, body)
            assert answer.status < 500, (body, answer.body)
            answer.json()


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b'{"records": [{"value": NaN}]}', "NaN is not a number"),
        (b'{"records": [{"value": {"a": [-Infinity]}}]}', "-Infinity is not a number"),
        (b'{"records": [{"value": 1e400}]}', "1e400 is out of range"),
        (b'{"records": [{"value": %s}]}' % (b"9" * 5000), "5000 digits is out of range"),
        (rb'{"records": [{"value": "\ud800"}]}', "a lone surrogate"),
        (rb'{"records": [{"key": "\udfff"}]}', "a lone surrogate"),
        (rb'{"records": [{"headers": [{"name": "\ud800"}]}]}', "a lone surrogate"),
        (rb'{"records": [], "format": "\ud800"}', "a lone surrogate"),
        (b'{"records": [{"value": 1, "value": 2}]}', "the name 'value' twice"),
        (b'{"records": [{"value": {"a": 1, "a": 2}}]}', "the name 'a' twice"),
        (b'{"records": [], "format": []}', "format []: want json, string, binary"),
        (b'{"records": [], "format": {}}', "format {}: want json"),
        (b'{"records": [], "format": null}', "format None: want json"),
        (
            b'{"records": [{"value": 1}, {"key": "a", "valeu": 1}]}',
            "records[1]: unknown name 'valeu'; did you mean 'value'?",
        ),
        (b'{"record": []}', "the body: unknown name 'record'; did you mean 'records'?"),
        (
            b'{"records": [{"headers": [{"key": "h"}]}]}',
            "records[0]: a header: unknown name 'key'; want some of name, value",
        ),
        (b'{"records": [[]]}', "records[0] is not an object"),
    ],
)
async def test_an_invalid_body_is_refused_with_a_message_that_names_the_mistake(
    body: bytes, error: str, autojump_clock: MockClock
) -> None:
    async with gateway() as rest:
        await rest.served.create_topic("t")
        answer = await rest.ask("POST", "/v1/topics/t/records", body)
        stored = await rest.consume("t")

    assert (answer.status, error in answer.json()["message"]) == (400, True), answer.body
    assert stored["records"] == []


@pytest.mark.parametrize(
    ("target", "error"),
    [
        (
            "/v1/topics/t/partitions/0/records?ofset=5",
            "query: unknown name 'ofset'; did you mean 'offset'?",
        ),
        ("/v1/topics/t/partitions/0/records?offset=1&offset=2", "query: the name 'offset' twice"),
        ("/v1/topics/t/partitions/0/records?offset=", "offset=: want a number"),
        ("/v1/topics?from=a", "query: unknown name 'from'; want some of after, limit"),
        ("/v1/topics/t?limit=1", "query: unknown name 'limit'; want none"),
    ],
)
async def test_misspelled_name_in_a_query_is_refused(
    target: str, error: str, autojump_clock: MockClock
) -> None:
    async with gateway() as rest:
        await rest.served.create_topic("t")
        message = (await rest.json("GET", target, status=400))["message"]

    assert message.startswith(error)


async def test_a_topic_name_too_long_for_the_protocol_is_refused(autojump_clock: MockClock) -> None:
    async with gateway() as rest:
        message = (await rest.json("POST", "/v1/topics", {"name": "x" * 40_000}, 400))["message"]

    assert "a string of 40000 bytes: the limit is 32767" in message


async def test_a_body_over_the_limit_is_refused(autojump_clock: MockClock) -> None:
    async with gateway(max_body_bytes="100") as rest:
        fits = await rest.ask("POST", "/v1/topics", b"{" + b" " * 99)
        large = await rest.ask("POST", "/v1/topics", b"{" + b" " * 100)

    assert (fits.status, large.status) == (400, 413)


async def test_requests_above_the_limit_get_status_503_with_retry_after(
    autojump_clock: MockClock,
) -> None:
    async with gateway(max_requests="1") as rest:
        await rest.served.create_topic("t")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(rest.consume, "t", "wait_ms=5000")
            await trio.sleep(1)
            refused = await rest.ask("GET", "/v1/topics")
            nodes = (node for _, node in rest.served.broker.node.walk())
            [queue] = [node for node in nodes if node.name == "rest-requests"]
            figures = queue.figures()
        served = await rest.ask("GET", "/v1/topics")
        later = queue.figures()

    assert (later["depth"], later["items"]) == (0, 2)
    assert figures == {"depth": 1, "bound": 1, "high_water": 1, "items": 0}
    assert refused.status == 503
    assert refused.headers["retry-after"] == "1"
    assert served.status == 200


async def test_values_masked_by_the_mask_plugin_are_masked_in_http_responses(
    autojump_clock: MockClock,
) -> None:
    masks = {"plugin.mask.enabled": "true", "plugin.mask.rules": "t: a=redact"}
    async with gateway(mask, more=masks) as rest:
        await rest.served.create_topic("t")
        await rest.produce("t", {"value": {"a": 1, "b": 2}})
        result = await rest.consume("t")

    assert result["records"][0]["value"] == {"a": "***", "b": 2}
    assert result["next_offset"] == 1


async def test_http_requests_are_audited_with_the_principal_and_client_id_of_the_gateway(
    autojump_clock: MockClock,
) -> None:
    audits = {"plugin.audit.enabled": "true", "plugin.audit.apis": "admin,Produce"}
    audits["plugin.audit.sample"] = "1"
    async with gateway(audit, more=audits, principal="User:web", client_id="shop") as rest:
        assert (await rest.ask("POST", "/v1/topics", {"name": "t"})).status == 201
        await rest.produce("t", {"value": 1})
        await trio.sleep(1)
        events = [json.loads(text) for text in await values(rest.served, "trio-audit", 0)]

    assert [event["api"] for event in events] == ["CreateTopics", "Produce"]
    for event in events:
        assert (event["principal"], event["client_id"]) == ("User:web", "shop")
        assert (event["listener"], event["outcome"]) == ("in-process", "done")


async def test_interceptors_can_change_and_refuse_produce_and_fetch_requests_over_http(
    autojump_clock: MockClock,
) -> None:
    def write(request: ProduceRequest, context: Context) -> None:
        data = request.topic_data[0].partition_data[0]
        if data.index:
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "not there")
        data.records = memoryview(bytearray(encode_batch([Record(value=b'"changed"')])))

    async def read(request: FetchRequest, context: Context, forward: Any) -> Any:
        if request.topics[0].partitions[0].partition:
            raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        return await forward(request)

    async with gateway() as rest:
        await rest.served.create_topic("t", 2)
        interceptors = rest.served.broker.parts.interceptors
        interceptors.add("before", ProduceRequest, write, order=1, owner=RecordingOwner())
        interceptors.add("around", FetchRequest, read, order=1, owner=RecordingOwner())
        written = await rest.produce("t", {"value": "mine", "partition": 0})
        (refused,) = await rest.produce("t", {"value": "mine", "partition": 1})
        result = await rest.consume("t")
        unread = await rest.ask("GET", "/v1/topics/t/partitions/1/records")

    assert written == [{"partition": 0, "offset": 0}]
    assert (refused["error"], refused["message"]) == ("TOPIC_AUTHORIZATION_FAILED", "not there")
    assert [record["value"] for record in result["records"]] == ["changed"]
    assert unread.status == 403


async def test_http_requests_above_a_quota_are_throttled(autojump_clock: MockClock) -> None:
    async with gateway(client_id="shop") as rest:
        await rest.served.create_topic("t")
        quotas = rest.served.broker.parts.quotas.quotas
        took = []
        for limits in ({}, {"producer_byte_rate": 100.0}, {"consumer_byte_rate": 100.0}):
            quotas.set(("", "shop"), limits)
            for operation in ("write", "read"):
                began = trio.current_time()
                if operation == "write":
                    await rest.produce("t", {"value": "x" * 2000})
                else:
                    await rest.consume("t", "max_bytes=4000")
                took.append(trio.current_time() - began > 0.5)
        again = await rest.consume("t", "max_bytes=4000")

    assert took == [False, False, True, False, False, True]
    assert again["next_offset"] >= 0


async def test_http_requests_are_counted_as_kafka_requests_of_the_gateway(
    autojump_clock: MockClock,
) -> None:
    lives: list[Stamps] = []
    async with gateway() as rest:
        times = rest.served.broker.planes[0].request_metrics
        times.follow(lives.append)
        await rest.ask("POST", "/v1/topics", {"name": "t"})
        await rest.produce("t", {"value": 1})
        await rest.consume("t")
        await rest.ask("DELETE", "/v1/topics/t")
        times.unfollow(lives.append)

    assert [life.key for life in lives] == [19, 0, 1, 20]
    assert {life.origin.listener for life in lives} == {"in-process"}
    assert {life.client_id for life in lives} == {"rest-gateway"}


async def test_a_cancelled_long_poll_leaves_no_delayed_fetch(
    autojump_clock: MockClock,
) -> None:
    async with gateway() as rest:
        await rest.served.create_topic("t")
        with trio.move_on_after(2):
            await rest.consume("t", "wait_ms=20000")
        assert rest.served.broker.purgatories.fetch.waiting == 0


async def test_the_openapi_document_has_exactly_the_served_methods_and_parameters(
    autojump_clock: MockClock,
) -> None:
    async with gateway() as rest:
        await rest.served.create_topic("t")
        document = await rest.json("GET", "/v1/openapi.json")
        for path, operations in document["paths"].items():
            target = "/v1" + path.replace("{topic}", "none").replace("{partition}", "0")
            for method in ("get", "post", "put", "delete"):
                answer = await rest.ask(method.upper(), target, {})
                assert (answer.status == 405) == (method not in operations), (method, path)
                parameters = operations.get(method, {}).get("parameters", [])
                named = {parameter["name"] for parameter in parameters if parameter["in"] == "path"}
                assert method not in operations or named == {
                    word.strip("{}") for word in path.split("/") if word.startswith("{")
                }
    assert json.dumps(document).count("#/components/schemas/Topic") == 1


def test_every_kafka_error_maps_to_an_http_error_status() -> None:
    assert all(400 <= status < 600 for status in STATUS.values())
