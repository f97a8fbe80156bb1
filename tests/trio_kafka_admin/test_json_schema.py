"""JSON Schema of types."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import attrs
import pytest
from jsonschema_rs import Draft202012Validator

from trio_kafka_admin.json_schema import Schema, Schemas


@attrs.frozen
class Leaf:
    """A leaf."""

    name: str
    size: float | None


@attrs.frozen
class Branch:
    """A branch,
    with leaves.
    """

    leaves: tuple[Leaf, ...]
    kind: Literal["old", "new"]
    above: "Branch | None"


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        (str, {"type": "string"}),
        (bool, {"type": "boolean"}),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (list[float], {"type": "array", "items": {"type": "number"}}),
        (Sequence[str], {"type": "array", "items": {"type": "string"}}),
        (Mapping[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (dict[str, Any], {"type": "object", "additionalProperties": {}}),
        (
            tuple[float, str],
            {
                "type": "array",
                "prefixItems": [{"type": "number"}, {"type": "string"}],
                "items": False,
                "minItems": 2,
            },
        ),
        (Literal["a", "b"], {"enum": ["a", "b"]}),
    ],
)
def test_plain_types_have_their_schema(kind: Any, schema: Schema) -> None:
    assert Schemas().of(kind) == schema


def test_class_is_a_reference_and_has_exactly_its_fields() -> None:
    schemas = Schemas("#/$defs/")

    assert schemas.of(Branch) == {"$ref": "#/$defs/Branch"}
    assert set(schemas.by_name) == {"Branch", "Leaf"}
    assert schemas.by_name["Branch"]["description"] == "A branch, with leaves."
    assert schemas.by_name["Leaf"]["required"] == ["name", "size"]


@pytest.mark.parametrize(
    ("value", "is_valid"),
    [
        ({"leaves": [], "kind": "old", "above": None}, True),
        ({"leaves": [{"name": "a", "size": 1}], "kind": "new", "above": None}, True),
        ({"leaves": [], "kind": "old"}, False),
        ({"leaves": [], "kind": "other", "above": None}, False),
        ({"leaves": [], "kind": "old", "above": None, "more": 1}, False),
        ({"leaves": [{"name": "a", "size": "1"}], "kind": "old", "above": None}, False),
        (
            {"leaves": [], "kind": "old", "above": {"leaves": [], "kind": "old", "above": None}},
            True,
        ),
    ],
)
def test_values_are_valid_if_their_fields_are(value: object, is_valid: bool) -> None:
    schemas = Schemas("#/$defs/")
    schema = {**schemas.of(Branch), "$defs": schemas.by_name}

    assert Draft202012Validator(schema).is_valid(value) is is_valid


@pytest.mark.parametrize("kind", [bytes, complex, type])
def test_type_that_json_does_not_have_is_refused(kind: Any) -> None:
    with pytest.raises(TypeError, match="has no JSON Schema"):
        Schemas().of(kind)
