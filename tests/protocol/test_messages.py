"""Every declared message against what Kafka 4.4 defines, and against what was recorded of it."""

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.lanes import together
from tests.protocol.declared import (
    classes,
    messages_of,
    newest_and_another,
    recorded,
    requests,
    versions,
)
from trio_kafka.protocol.compiler import (
    decoder,
    decoder_in_steps,
    encoder,
    encoder_in_steps,
    to_bytes,
)
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.fields import Field
from trio_kafka.protocol.headers import (
    RequestHeader,
    ResponseHeader,
    request_header_version,
    response_header_version,
)
from trio_kafka.protocol.json_data import from_data, to_data
from trio_kafka.protocol.schema import fields_of, message_of
from trio_kafka.protocol.texts import to_camel
from trio_kafka.protocol.versions import Range, parse_versions

DEFINITIONS = {line["name"]: line for line in recorded("definitions.jsonl.gz")}
SAMPLES = [line for line in recorded("wire-samples.jsonl.gz") if line["key"] in requests()]
DECODED = recorded("wire-decoded.jsonl.gz")
# librdkafka leaves bytes behind the body of these requests, which Kafka ignores: sample, bytes.
TRAILING = {183: 3, 187: 3, 1075: 1}
KINDS = {"bool": "boolean"}
RECORDS = {"records", "unalignedRecords"}
EXAMPLES = max(2, settings.default.max_examples // 24)  # of each message, in two versions each


def bodies(sample: dict[str, Any]) -> list[tuple[type[Any], bytes, int, bytes]]:
    """Class, frame, position of the body and the header encoded again, of request and response."""
    cls = requests()[sample["key"]]
    message = message_of(cls)
    version = sample["version"]
    frame = bytes.fromhex(sample["request"])
    head, position = decoder(RequestHeader, request_header_version(message, version))(frame)
    result = [(cls, frame, position, to_bytes(head, request_header_version(message, version)))]
    if sample["response"]:
        frame = bytes.fromhex(sample["response"])
        header_version = response_header_version(message, version)
        answer_head, position = decoder(ResponseHeader, header_version)(frame)
        assert message.response is not None
        result.append((message.response, frame, position, to_bytes(answer_head, header_version)))
    return result


def test_every_kafka_message_is_declared_except_two_file_rows_and_removed_messages() -> None:
    removed = {name for name, line in DEFINITIONS.items() if line["validVersions"] == "none"}
    of_the_log = {"AbortedTxn", "ProducerSnapshot"}  # rows of files of a fixed layout

    assert {cls.__name__ for cls in classes()} == set(DEFINITIONS) - removed - of_the_log
    assert len(removed) == 8


def test_each_api_has_its_own_module_and_every_message_has_a_docstring() -> None:
    for key, cls in requests().items():
        message = message_of(cls)
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", message.name.removesuffix("Request"))
        assert message.response is not None
        assert {cls.__module__, message.response.__module__} == {
            f"trio_kafka.protocol.messages.k{key:02d}_{words.lower()}"
        }
    assert [cls.__name__ for cls in classes() if not cls.__doc__] == []


def test_every_declared_request_has_recorded_samples() -> None:
    assert {sample["key"] for sample in SAMPLES} == set(requests())
    assert len(SAMPLES) > 400


@pytest.mark.parametrize("key", sorted(requests()))
@pytest.mark.parametrize("view", [bytes, memoryview], ids=["bytes", "memoryview"])
def test_every_recorded_frame_is_decoded_and_encoded_to_the_same_bytes(
    key: int, view: type[bytes] | type[memoryview]
) -> None:
    for sample in SAMPLES:
        if sample["key"] != key:
            continue
        for cls, frame, position, head in bodies(sample):
            version = sample["version"]
            message, end = decoder(cls, version)(view(frame), position)
            segments: list[bytes] = []
            encoder(cls, version)(message, segments.append)

            behind = TRAILING.get(sample["n"], 0) if message_of(cls).kind == "request" else 0
            assert end == len(frame) - behind, (sample["n"], cls.__name__)
            assert head + b"".join(segments) == frame[:end], (sample["n"], cls.__name__)


def run(steps: Any) -> tuple[int, Any]:
    """How many pauses there were, and what came of it."""
    pauses = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return pauses, end.value
        pauses += 1


@together(sorted(requests()))
def test_codecs_in_steps_give_the_same_result_as_plain_codecs(key: int) -> None:
    newest = {sample["version"]: sample for sample in SAMPLES if sample["key"] == key}
    for version in {min(newest), max(newest)}:
        for cls, frame, position, _ in bodies(newest[version]):
            message, end = decoder(cls, version)(frame, position)
            segments: list[bytes] = []
            in_steps: list[bytes] = []
            encoder(cls, version)(message, segments.append)

            pauses, decoded = run(decoder_in_steps(cls, version)(frame, position))
            assert decoded == (message, end)
            written, _ = run(encoder_in_steps(cls, version)(message, in_steps.append))
            assert in_steps == segments
            assert written <= pauses  # which are also made before tagged fields
            if end > position:
                with pytest.raises(DecodeError):
                    run(decoder_in_steps(cls, version)(frame[: end - 1], position))


def without_records(data: Any) -> Any:
    """The recorded JSON has no record bytes."""
    if isinstance(data, list):
        return [without_records(item) for item in data]
    if not isinstance(data, dict):
        return data
    return {
        name: "" if name in RECORDS and value is not None else without_records(value)
        for name, value in data.items()
    }


@together(sorted(requests()))
def test_recorded_frames_are_decoded_as_by_the_java_library_in_every_version(key: int) -> None:
    samples = {sample["n"]: sample for sample in SAMPLES if sample["key"] == key}
    compared = 0
    for line in DECODED:
        sample = samples.get(line["n"])
        if sample is None:
            continue
        message = message_of(requests()[key])
        version = sample["version"]
        assert request_header_version(message, version) == line["requestHeader"]
        assert response_header_version(message, version) == line["responseHeader"]
        for (cls, frame, position, _), side in zip(
            bodies(sample), ("request", "response"), strict=True
        ):
            read, _ = decoder(cls, version)(frame, position)
            data = to_data(read, names="kafka", version=version)
            assert without_records(data) == line[side], (line["n"], side)
            assert from_data(cls, to_data(read)) == read
            assert from_data(cls, to_data(read, names="kafka"), names="kafka") == read
        compared += 1
    assert compared >= len(versions(requests()[key])) - 1  # DescribeAcls 1 has no sample


def within(versions: Range, valid: Range) -> Range | None:
    """The part of a range that is in `valid`; None: nothing."""
    first, last = max(versions[0], valid[0]), min(versions[1], valid[1])
    return (first, last) if first <= last else None


def expected_default(definition: dict[str, Any], kind: str) -> object:
    """The default of Kafka's generated classes."""
    default = definition.get("default", "")
    if kind == "records" or default == "null":
        return None
    if kind in {"array", "struct"}:
        return ...
    if kind == "boolean":
        return default in ("true", True)
    if kind == "float64":
        return float(default or 0)
    if kind == "string":
        return default
    if kind == "bytes":
        return b""
    return bytes(16) if kind == "uuid" else int(str(default or 0), 0)


def compare(
    fields: tuple[Field, ...], definition: list[Any], valid: Range, common: dict[str, Any]
) -> None:
    """Each field of a class with its definition, and what it is made of."""
    camel = [line["name"][0].lower() + line["name"][1:] for line in definition]
    assert [to_camel(field.name) for field in fields] == camel
    for field, line in zip(fields, definition, strict=True):
        kind = line["type"].removeprefix("[]")
        own = kind[0].islower()
        kind = KINDS.get(kind, kind) if own else "struct"
        item = field.item if line["type"].startswith("[]") else field
        declared = line.get("versions") or line["taggedVersions"]
        scope = within(parse_versions(declared), valid)
        assert item.kind == kind, field.name
        assert (field.kind == "array") == line["type"].startswith("[]"), field.name
        assert within(field.versions, valid) == scope, field.name
        for name, mine in (("nullableVersions", field.nullable), ("taggedVersions", field.tagged)):
            theirs = parse_versions(line.get(name) or "none")
            assert within(mine, scope or valid) == within(theirs, scope or valid), (
                field.name,
                name,
            )
        assert field.tag == line.get("tag"), field.name
        assert field.ignorable == (line.get("ignorable") is True), field.name
        assert field.default == expected_default(line, "array" if field.of else kind), field.name
        assert field.flexible == parse_versions(line.get("flexibleVersions") or "0+"), field.name
        if not own:
            name = line["type"].removeprefix("[]")
            parts = line.get("fields") or common[name]["fields"]
            compare(fields_of(item.part), parts, scope or valid, common)


@together(classes(), label=lambda cls: cls.__name__)
def test_every_declared_message_matches_the_definition_of_kafka(cls: type[Any]) -> None:
    definition = DEFINITIONS[cls.__name__]
    message = message_of(cls)
    common = {struct["name"]: struct for struct in definition.get("commonStructs", [])}
    stored = ("metadata", "coordinator-key", "coordinator-value")
    kinds = {"header": "data"} | dict.fromkeys(stored, "record")

    assert message.kind == kinds.get(definition["type"], definition["type"])
    assert message.key == definition.get("apiKey")
    assert message.versions == parse_versions(definition["validVersions"])
    assert message.flexible == parse_versions(definition.get("flexibleVersions", "none"))
    if message.kind == "request":
        last = message.versions[1]
        unstable = str(last) if definition.get("latestVersionUnstable") else "none"
        assert message.unstable == parse_versions(unstable)
        assert message.response is not None
        assert message.response.__name__ == cls.__name__.replace("Request", "Response")
    compare(message.fields, definition["fields"], message.versions, common)


@pytest.mark.parametrize("cls", classes(), ids=lambda cls: cls.__name__)
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(draw=st.data())
def test_every_message_survives_a_round_trip_in_every_version(cls: type[Any], draw: Any) -> None:
    for version in newest_and_another(versions(cls), draw):
        message = draw.draw(messages_of(cls, version))

        encoded = to_bytes(message, version)

        assert decoder(cls, version)(encoded) == (message, len(encoded))
        assert decoder(cls, version)(memoryview(b"-" + encoded), 1) == (message, len(encoded) + 1)


@pytest.mark.parametrize("cls", classes(), ids=lambda cls: cls.__name__)
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(draw=st.data())
def test_any_bytes_are_decoded_or_raise_decode_error(cls: type[Any], draw: Any) -> None:
    for version in newest_and_another(versions(cls), draw):
        check_damaged(cls, version, draw)


def check_damaged(cls: type[Any], version: int, draw: Any) -> None:
    """Decode a message that was cut off, changed bytes of it, and any bytes."""
    encoded = bytearray(to_bytes(draw.draw(messages_of(cls, version)), version))
    step = len(encoded) // 40 + 1
    for cut in range(draw.draw(st.integers(0, step - 1)), len(encoded), step):
        with pytest.raises(DecodeError):
            decoder(cls, version)(memoryview(encoded)[:cut])
    for place in draw.draw(st.lists(st.integers(0, max(len(encoded) - 1, 0)), max_size=4)):
        encoded[place : place + 1] = bytes([draw.draw(st.integers(0, 255))])
    for hostile in (bytes(encoded), draw.draw(st.binary(max_size=80))):
        try:
            _, end = decoder(cls, version)(memoryview(hostile))
        except DecodeError:
            continue
        assert end <= len(hostile)
