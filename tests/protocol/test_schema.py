import copy
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.project.tree import ROOT
from trio_kafka.protocol.compiler import decoder, to_bytes
from trio_kafka.protocol.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
from trio_kafka.protocol.primitives import NO_TAGS
from trio_kafka.protocol.schema import (
    array,
    bytes_,
    data,
    fields_of,
    int16,
    int32,
    message_of,
    record,
    records,
    request,
    response,
    string,
    struct,
    struct_,
    unknown_tags,
    uuid,
)

MESSAGES = ROOT / "trio_kafka" / "protocol" / "messages"


@struct
class Part:
    number: int = int32()
    names: list[str] = array(string)


@request(key=10100, versions="0-3", flexible="2+", unstable="3")
class AskRequest:
    """Ask."""

    who: str | None = string(nullable="0+", default=None)
    part: Part = struct_(Part)
    parts: list[Part] = array(Part, "1+")


@response(AskRequest)
class AskResponse:
    error_code: int = int16()


@response(AskRequest, versions="1", flexible="none")
class OtherResponse:
    error_code: int = int16()


@record(key=7, versions="0")
class Kept:
    topic_id: bytes = uuid()
    salt: bytes = bytes_()
    batches: memoryview | None = records()


@data(versions="0-1", flexible="1+")
class Head:
    correlation_id: int = int32()


def test_a_message_class_has_the_declared_key_kind_versions_and_fields() -> None:
    message = message_of(AskRequest)

    assert (message.key, message.name, message.kind) == (10100, "AskRequest", "request")
    assert (message.versions, message.flexible, message.unstable) == ((0, 3), (2, 32767), (3, 3))
    assert [field.name for field in message.fields] == ["who", "part", "parts"]
    assert message_of(Kept).key == 7
    assert message_of(Head).key is None


def test_a_response_has_the_versions_of_its_request_unless_declared_otherwise() -> None:
    message = message_of(AskResponse)

    assert (message.key, message.kind) == (10100, "response")
    assert (message.versions, message.flexible) == ((0, 3), (2, 32767))
    assert (message_of(OtherResponse).versions, message_of(OtherResponse).flexible) == (
        (1, 1),
        (0, -1),
    )
    assert message_of(AskRequest).response is OtherResponse


def test_fields_can_be_given_by_keyword_or_in_order_and_all_are_optional() -> None:
    part = Part(3, ["a"])

    assert part == Part(names=["a"], number=3)
    assert AskRequest() == AskRequest(None, Part(), [])
    assert AskRequest(parts=[part]).parts[0].number == 3


def test_lists_and_structs_are_not_shared_between_instances() -> None:
    first, other = AskRequest(), AskRequest()

    first.parts.append(Part())
    first.part.number = 5

    assert other == AskRequest()


def test_message_instances_are_mutable_slotted_and_not_hashable() -> None:
    part = Part()
    part.number = 4

    assert part.number == 4
    assert not hasattr(part, "__dict__")
    with pytest.raises(AttributeError):
        part.nmber = 4  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        hash(part)


def test_a_repr_shows_only_non_default_values_and_no_content_of_bytes() -> None:
    assert repr(AskRequest()) == "AskRequest()"
    assert repr(AskRequest("me", Part(3))) == "AskRequest(who='me', part=Part(number=3))"
    kept = Kept(bytes(15) + b"\x01", b"secret", memoryview(b"batch"))
    assert repr(kept) == (
        "Kept(topic_id=AAAAAAAAAAAAAAAAAAAAAQ, salt=<6 bytes>, batches=<5 bytes>)"
    )
    tagged = Part()
    tagged.unknown_tags = {3: b"x"}  # type: ignore[attr-defined]
    assert repr(tagged) == "Part(unknown_tags={3: b'x'})"


def test_the_default_of_unknown_tags_is_a_shared_immutable_empty_mapping() -> None:
    assert unknown_tags(Part()) is NO_TAGS
    assert unknown_tags(copy.deepcopy(Part())) is NO_TAGS
    assert unknown_tags(copy.copy(Part())) is NO_TAGS
    with pytest.raises(TypeError):
        unknown_tags(Part())[3] = b""  # type: ignore[index]


def test_message_of_and_fields_of_refuse_classes_that_are_not_messages() -> None:
    with pytest.raises(TypeError, match="Part is not a message"):
        message_of(Part)
    with pytest.raises(TypeError, match="int is not a message"):
        fields_of(int)


def test_a_class_attribute_that_is_not_a_field_is_refused() -> None:
    with pytest.raises(TypeError, match="number: want a field"):

        @struct
        class Wrong:
            number: int = 3


def test_an_annotation_that_contradicts_the_nullable_versions_is_refused() -> None:
    with pytest.raises(TypeError, match="must admit None"):

        @struct
        class Hidden:
            name: str = string(nullable="1+")

    with pytest.raises(TypeError, match="not nullable"):

        @struct
        class Imagined:
            name: str | None = string()


PLUGIN = """
from trio_kafka.protocol.schema import int32, request, response, string


@request(key=10200, versions="0", flexible="0+")
class PingRequest:
    text: str = string()


@response(PingRequest)
class PingResponse:
    times: int = int32()
"""


def load(path: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module


def test_two_generations_of_a_message_class_exchange_values_as_bytes(tmp_path: Path) -> None:
    path = tmp_path / "ping.py"
    path.write_text(PLUGIN)

    old, new = load(path, "_ping_1"), load(path, "_ping_2")
    passed, _ = decoder(new.PingRequest, 0)(to_bytes(old.PingRequest("hello"), 0))

    assert passed == new.PingRequest("hello")
    assert old.PingRequest is not new.PingRequest
    assert message_of(old.PingRequest).response is old.PingResponse
    assert message_of(new.PingRequest).response is new.PingResponse


def test_a_request_class_has_the_class_of_its_response() -> None:
    assert HeartbeatRequest.response is HeartbeatResponse
    assert HeartbeatRequest("g").response is HeartbeatResponse


def test_every_request_of_the_protocol_declares_its_response_for_type_checkers() -> None:
    for path in sorted(MESSAGES.glob("k*.py")):
        text = path.read_text()

        assert text.count("\n@request(") == text.count("    response: ClassVar[type["), path.name


def test_a_field_named_response_is_refused_in_a_request() -> None:
    @request(key=10199, versions="0")
    class FieldRequest:
        response: str = string()

    with pytest.raises(TypeError, match=r"FieldRequest\.response: this name"):

        @response(FieldRequest)
        class FieldResponse:
            pass
