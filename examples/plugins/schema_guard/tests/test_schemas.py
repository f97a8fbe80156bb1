"""Schemas as judges: what they let pass, and what is no schema for them."""

import io
import json
from typing import Any

import fastavro
import pytest
from schema_guard.schemas import LONGEST_MESSAGE, SchemaError, judge_of

ORDER = {
    "type": "object",
    "properties": {"id": {"type": "integer", "maximum": 5}, "name": {"pattern": "^(a+)+$"}},
    "required": ["id"],
}
POINT = {
    "type": "record",
    "name": "Point",
    "fields": [{"name": "x", "type": "long"}, {"name": "label", "type": ["null", "string"]}],
}


def avro(schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        (b'{"id": 1, "name": "aaa"}', None),
        (b'{"id": 6}', "/id: a value is greater than the maximum of 5"),
        (b"{}", '/: "id" is a required property'),
        (b'{"id": 1, "name": "b"}', "/name"),
        (b'{"id": 1, "name": "' + b"a" * 5000 + b'!"}', "/name"),
        (b"", "no JSON"),
        (b"NaN", "NaN is no JSON"),
        (b"\xff\xfe{\x00}\x00", "no JSON"),
        (b'{"id": 1, "name": "\\ud800"}', "no JSON"),
        (b"[" * 60_000, "no JSON"),
        (b'{"id": ' + b"[" * 400 + b"]" * 400 + b"}", "no JSON"),
        (b'{"id": ' + b"9" * 5000 + b"}", "no JSON"),
    ],
)
def test_json_value_that_does_not_match_the_schema_is_rejected_with_the_reason(
    value: bytes, wrong: str | None
) -> None:
    reason = judge_of("JSON", json.dumps(ORDER))(value)

    assert reason is None if wrong is None else reason is not None and wrong in reason
    assert len(reason or "") <= LONGEST_MESSAGE


def test_rejection_message_does_not_contain_the_value() -> None:
    judge = judge_of("JSON", '{"properties": {"card": {"type": "integer"}}}')

    assert "4111" not in (judge(b'{"card": "4111 1111"}') or "4111")


def test_json_schema_draft_2020_12_is_applied_by_its_own_rules() -> None:
    modern = '{"$schema": "https://json-schema.test/x", "prefixItems": [{"type": "string"}]}'
    modern = modern.replace("json-schema.test/x", "json-schema." + "org/draft/2020-12/schema")

    assert judge_of("JSON", modern)(b'["a"]') is None
    assert judge_of("JSON", modern)(b"[1]") is not None


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        (avro(POINT, {"x": 3, "label": "here"}), None),
        (avro(POINT, {"x": 3, "label": None}), None),
        (avro(POINT, {"x": 3, "label": None}) + b"x", "1 bytes behind"),
        (avro(POINT, {"x": 3, "label": "here"})[:-1], "no such Avro"),
        (b"", "no such Avro"),
        (b"\x00\x09", "no such Avro"),
        (b"\x00\x02\xfe\xff\xff\xff\xff\xff\xff\xff\x7f", "no such Avro"),
    ],
)
def test_avro_value_that_does_not_match_the_schema_is_rejected_with_the_reason(
    value: bytes, wrong: str | None
) -> None:
    reason = judge_of("AVRO", json.dumps(POINT))(value)

    assert reason is None if wrong is None else reason is not None and wrong in reason


NESTED = {"type": "record", "name": "n", "fields": [{"name": "a", "type": ["null", "n"]}]}


def test_avro_value_with_too_many_items_is_rejected() -> None:
    schema = {"type": "array", "items": "boolean"}
    judge = judge_of("AVRO", json.dumps(schema), 100)

    assert judge(avro(schema, [True] * 90)) is None
    assert "want at most 100" in (judge(avro(schema, [True] * 100)) or "")
    assert judge_of("AVRO", '"bytes"', 100)(avro("bytes", bytes(1000))) is None


EMPTY: dict[str, Any] = {"type": "record", "name": "e", "fields": []}


@pytest.mark.parametrize(
    ("kind", "schema", "why"),
    [
        ("AVRO", NESTED, "contains itself"),
        ("AVRO", {**NESTED, "name": "ns.n"}, "contains itself"),
        (
            "AVRO",
            {
                "type": "record",
                "name": "ns.n",
                "fields": [{"name": "a", "type": {"type": "map", "values": "ns.n"}}],
            },
            "contains itself",
        ),
        ("AVRO", {"type": "array", "items": "null"}, "no bytes"),
        ("AVRO", {"type": "array", "items": {"type": "null"}}, "no bytes"),
        ("AVRO", {"type": "array", "items": EMPTY}, "no bytes"),
        ("AVRO", {"type": "array", "items": {"type": "fixed", "name": "f", "size": 0}}, "no bytes"),
        (
            "AVRO",
            [EMPTY, {**EMPTY, "name": "o.e", "fields": []}, {"type": "array", "items": "e"}],
            "no bytes",
        ),
        ("AVRO", "nope", "nope"),
        ("AVRO", 3, "no Avro type"),
        ("JSON", {"type": 3}, "no usable JSON schema"),
        ("JSON", {"$ref": "http://127.0.0.1:1/x"}, "no usable JSON schema"),
        ("JSON", {"$ref": "file:///etc/hostname"}, "no usable JSON schema"),
        ("JSON", {"pattern": "(?=a)"}, "no usable JSON schema"),
        ("PROTOBUF", {}, "PROTOBUF schemas"),
    ],
)
def test_unusable_schema_is_refused_with_the_reason(kind: str, schema: Any, why: str) -> None:
    with pytest.raises(SchemaError, match=why):
        judge_of(kind, json.dumps(schema))


def test_too_deeply_nested_schema_is_refused() -> None:
    deep = '{"type":"array","items":' * 5000 + '"int"' + "}" * 5000
    for kind in ("AVRO", "JSON"):
        with pytest.raises(SchemaError):
            judge_of(kind, deep)
    with pytest.raises(SchemaError, match="no JSON"):
        judge_of("AVRO", "message X {}")
