import pytest

from trio_kafka.protocol import fields
from trio_kafka.protocol.fields import Field, array, bytes_, int32, records, string, struct_
from trio_kafka.protocol.schema import struct
from trio_kafka.protocol.versions import ALWAYS, NEVER


@struct
class Part:
    number: int = int32()


def declared(value: object) -> Field:
    assert isinstance(value, Field)
    return value


@pytest.mark.parametrize(
    ("field", "default"),
    [
        (int32(), 0),
        (fields.float64(), 0.0),
        (fields.boolean(), False),
        (fields.uuid(), bytes(16)),
        (string(nullable="0+"), ""),
        (bytes_(nullable="0+"), b""),
        (records(), None),
        (array(int32, nullable="0+"), ...),
        (struct_(Part), ...),
        (struct_(Part, nullable="0+", default=None), None),
        (string(nullable="0+", default=None), None),
        (int32(default=-1), -1),
    ],
)
def test_fields_have_the_default_values_of_kafka(field: object, default: object) -> None:
    assert declared(field).default == default
    assert type(declared(field).default) is type(default)


def test_a_field_has_the_declared_nullable_tagged_and_flexible_versions() -> None:
    field = declared(string("3+", nullable="4+", tag=2, ignorable=True, flexible="none"))

    assert field.versions == (3, ALWAYS[1])
    assert field.nullable == (4, ALWAYS[1])
    assert (field.tag, field.tagged) == (2, field.versions)
    assert field.ignorable
    assert field.flexible == NEVER
    assert declared(int32("1+", tag=0, tagged="5+")).tagged == (5, ALWAYS[1])


def test_the_items_of_an_array_are_structs_or_plain_values() -> None:
    assert declared(array(Part)).item.part is Part
    assert declared(array(string)).item.kind == "string"
    with pytest.raises(TypeError, match="is not an array"):
        _ = declared(int32()).item
    with pytest.raises(TypeError, match="is not a struct"):
        _ = declared(int32()).part


def test_records_cannot_be_tagged_and_tagged_versions_need_a_tag() -> None:
    with pytest.raises(TypeError, match="tag"):
        int32("0+", tagged="1+")
    with pytest.raises(TypeError, match="records"):
        fields._field("records", "0+", None, tag=0)
