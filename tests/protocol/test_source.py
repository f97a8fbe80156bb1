from trio_kafka.protocol.fields import Field
from trio_kafka.protocol.schema import (
    array,
    bytes_,
    data,
    fields_of,
    int32,
    string,
    struct,
    struct_,
    uuid,
)
from trio_kafka.protocol.source import Source


@struct
class Part:
    number: int = int32()
    late: int = int32("1+")


@data(versions="0-2", flexible="2+")
class Whole:
    name: str = string()
    plain: str = string(flexible="none")
    content: bytes = bytes_()
    parts: list[Part] = array(Part)
    part: Part = struct_(Part)
    maybe: Part | None = struct_(Part, nullable="1+")
    topic_id: bytes = uuid("1+", tag=0, tagged="2+")


FIELDS = {field.name: field for field in fields_of(Whole)}


def field(name: str) -> Field:
    return FIELDS[name]


def test_the_smallest_size_of_a_field_depends_on_the_version() -> None:
    old, new = Source(0, flexible=False), Source(2, flexible=True)

    assert {name: old.smallest(field(name)) for name in FIELDS} == {
        "name": 2,
        "plain": 2,
        "content": 4,
        "parts": 4,
        "part": 4,
        "maybe": 4,
        "topic_id": 16,
    }
    assert {name: new.smallest(field(name)) for name in FIELDS} == {
        "name": 1,
        "plain": 2,
        "content": 1,
        "parts": 1,
        "part": 9,
        "maybe": 1,
        "topic_id": 16,
    }


def test_a_field_is_tagged_only_in_flexible_versions() -> None:
    assert Source(1, flexible=False).in_row(field("topic_id"))
    assert not Source(2, flexible=True).in_row(field("topic_id"))
    assert not Source(0, flexible=False).has(field("topic_id"))


def test_each_generated_line_has_the_path_of_its_field() -> None:
    source = Source(0, flexible=False)

    source.add("a = 1")
    with source.inside("topics"), source.block("for x in y:"), source.inside("name"):
        source.add("b = 2")
    source.add("c = 3", "elsewhere")

    assert source.lines == ["a = 1", "for x in y:", " b = 2", "c = 3"]
    assert source.paths == ["", "topics", "topics.name", "elsewhere"]


def test_a_constant_keeps_one_name_and_each_variable_gets_a_new_name() -> None:
    source = Source(0, flexible=False)
    thing = object()

    assert source.constant(thing, "thing") == source.constant(thing, "other")
    assert source.names[source.constant(thing, "thing")] is thing
    assert source.variable("v") != source.variable("v")
    assert source.packing("hq?", "pack") == "pack_hqo"
