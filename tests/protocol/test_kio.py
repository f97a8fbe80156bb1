"""Every message that kio knows, byte for byte and field for field beside our own codec.

kio's classes are generated from Kafka's definitions by other people. It knows no unknown tags,
keeps error codes as an enum and times as Python's, whose ranges are narrower than the wire's: the
values that are made here are those that both can hold.
"""

import io
from collections.abc import Iterator
from dataclasses import Field as KioField
from dataclasses import fields as kio_fields
from dataclasses import is_dataclass
from datetime import UTC, datetime, timedelta
from pkgutil import resolve_name
from typing import Any, Final, get_args
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode
from kio.schema.index import schema_name_map
from kio.serial import entity_reader, entity_writer

from tests.protocol.declared import all_versions, classes, newest_and_another, values
from trio_kafka.protocol.compiler import decoder, to_bytes
from trio_kafka.protocol.fields import Field
from trio_kafka.protocol.schema import fields_of, message_of
from trio_kafka.protocol.versions import covers

OURS: Final = {cls.__name__: cls for cls in classes()}
EXAMPLES: Final = max(2, settings.default.max_examples // 24)  # of each message
# The name in Kafka's definitions changed between the release that kio has and 4.4.
RENAMED: Final = {
    "generation_id_or_member_epoch": "generation_id",
    "acceptable_recovery_lag_legacy": "acceptable_recovery_lag",
}
# Messages of Kafka 4.4 that are newer than the release that kio has.
NEWER: Final = {
    ("ApiVersions", 5),
    ("DeleteGroups", 3),
    ("StreamsGroupDescribe", 1),
    ("StreamsGroupHeartbeat", 1),
    ("StreamsGroupTopologyDescriptionUpdate", 0),
    ("TxnOffsetCommit", 6),
    ("UnregisterController", 0),
}
NOT_IN_KIO: Final = {"QuorumStateData"}  # a file of Kafka's own
MS: Final = timedelta(milliseconds=1)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
LAST_S: Final = (datetime(9999, 1, 1, tzinfo=UTC) - EPOCH) // timedelta(seconds=1)
# kio reads these into Python's types; the rest has the range of the wire.
NARROWER: Final[dict[str, st.SearchStrategy[int]]] = {
    "error_code": st.sampled_from([code.value for code in ErrorCode]),
    # Whole seconds: on its way to and from Python's types kio's time is a float.
    "datetime_i64": st.integers(0, LAST_S).map((1000).__mul__),
    "timedelta_i64": st.integers(-LAST_S, LAST_S).map((1000).__mul__),
}


# Places of kio's top-level classes, `module:name`, by name and version: each is a module, which is
# imported when a test wants it.
KIO: Final = {
    (path.rpartition(":")[2], version): path
    for versions in schema_name_map.values()
    for version, kinds in versions.items()
    for path in kinds.values()
}
NAMES: Final = sorted({name for name, _ in KIO})


def element(annotation: Any) -> Any:
    """The class within `T | None`, `tuple[T, ...]` and both."""
    inner = [part for part in get_args(annotation) if part not in (type(None), ...)]
    return element(inner[0]) if inner else annotation


def pairs(cls: type[Any], kio: type[Any], version: int) -> Iterator[tuple[Field, KioField[Any]]]:
    """Our fields of a version with kio's, in the order of both; they are the same fields."""
    present = (field for field in fields_of(cls) if covers(field.versions, version))
    for ours, theirs in zip(present, kio_fields(kio), strict=True):
        name = RENAMED.get(ours.name, ours.name.removesuffix("_ms"))
        assert theirs.name.removesuffix("_") in (name, ours.name)
        yield ours, theirs


def both_hold(ours: Field, theirs: KioField[Any], version: int) -> st.SearchStrategy[Any]:
    """Values of a field that the version can carry and kio can hold."""
    narrower = NARROWER.get(theirs.metadata.get("kafka_type", ""))
    item = ours.item if ours.kind == "array" else ours
    if narrower is not None:
        some: st.SearchStrategy[Any] = narrower
    elif item.kind == "struct":
        some = instances(item.part, element(theirs.type), version)
    elif item.kind == "float64":
        some = st.floats(allow_nan=False, allow_infinity=False)
    else:
        return values(ours, version, flexible=False)
    if ours.kind == "array":
        some = st.lists(some, max_size=3)
    return st.none() | some if covers(ours.nullable, version) else some


def instances(cls: type[Any], kio: type[Any], version: int) -> st.SearchStrategy[Any]:
    result = {
        mine.name: both_hold(mine, other, version) for mine, other in pairs(cls, kio, version)
    }
    return st.builds(cls, **result)


def as_ours(theirs: Any) -> Any:
    """A value of kio's as our classes would have it."""
    if isinstance(theirs, tuple):
        return [as_ours(item) for item in theirs]
    if isinstance(theirs, ErrorCode):
        return theirs.value
    if isinstance(theirs, timedelta):
        return theirs // MS
    if isinstance(theirs, datetime):
        return (theirs - EPOCH) // MS
    if isinstance(theirs, UUID):
        return theirs.bytes
    if is_dataclass(theirs):
        return [as_ours(getattr(theirs, field.name)) for field in kio_fields(theirs)]
    return theirs


EMPTY: Final = {"uuid": bytes(16), "int64": -1}  # what kio says None for: no uuid, no time


def plain(ours: Any, version: int) -> Any:
    """A message of ours as lists of its fields' values, in their order."""
    if isinstance(ours, list | tuple):
        return [plain(item, version) for item in ours]
    if isinstance(ours, memoryview):
        return bytes(ours)
    if hasattr(ours, "__attrs_attrs__"):
        fields = fields_of(type(ours))
        present = [field.name for field in fields if covers(field.versions, version)]
        return [plain(getattr(ours, name), version) for name in present]
    return ours


def without_nothing(value: Any) -> Any:
    """Neither None nor what stands for it in a field that cannot be null."""
    if isinstance(value, list):
        return [without_nothing(item) for item in value]
    return None if value in EMPTY.values() else value


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(draw=st.data())
def test_kio_reads_the_same_values_and_writes_the_same_bytes(name: str, draw: Any) -> None:
    versions = sorted(version for each, version in KIO if each == name)
    for version in newest_and_another(versions, draw):
        compare_with_kio(name, version, draw)


def compare_with_kio(name: str, version: int, draw: Any) -> None:
    cls, kio = OURS[name], resolve_name(KIO[name, version])
    message = draw.draw(instances(cls, kio, version))
    encoded = to_bytes(message, version)

    read, size = entity_reader(kio)(encoded, 0)
    written = io.BytesIO()
    entity_writer(kio)(written, read)

    assert size == len(encoded)
    assert without_nothing(as_ours(read)) == without_nothing(plain(message, version))
    assert written.getvalue() == encoded
    assert decoder(cls, version)(written.getvalue()) == (message, len(encoded))


def test_kio_has_all_requests_and_responses_except_the_newest() -> None:
    """Those are held by Kafka's definitions and by recorded frames."""
    missing = {
        (cls.__name__, version)
        for cls, version in all_versions()
        if message_of(cls).kind in ("request", "response") and (cls.__name__, version) not in KIO
    }

    assert missing == {
        (name + side, version) for name, version in NEWER for side in ("Request", "Response")
    }


def test_kio_has_headers_and_control_records_but_not_the_quorum_state() -> None:
    names = {name for name, _ in KIO}
    unknown = {cls for cls in classes() if cls.__name__ not in names}

    stored = {cls.__name__ for cls in unknown if message_of(cls).kind == "data"}
    assert stored == NOT_IN_KIO
    assert {"RequestHeader", "ResponseHeader", "VotersRecord"} <= names
