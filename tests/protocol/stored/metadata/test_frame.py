import pkgutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.protocol.declared import all_versions, classes, messages_of, recorded
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.json_data import to_data
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.protocol.schema import message_of
from trio_kafka.protocol.stored import metadata
from trio_kafka.protocol.stored.metadata.features import FeatureLevelRecord
from trio_kafka.protocol.stored.metadata.frame import RECORDS, decode_record, encode_record

LINES = recorded("metadata-records.jsonl.gz")
METADATA = [
    (cls, version)
    for cls, version in all_versions()
    if cls.__module__.startswith(metadata.__name__)
]


def test_every_declared_metadata_record_is_registered_by_its_key() -> None:
    declared = [cls for cls in classes() if cls.__module__.startswith(metadata.__name__)]

    assert {message_of(cls).key: cls for cls in declared} == RECORDS
    assert len(declared) == len(RECORDS) == 27
    assert len(list(pkgutil.iter_modules(metadata.__path__))) == 10


def test_a_metadata_frame_has_frame_version_key_and_record_version() -> None:
    record = FeatureLevelRecord("metadata.version", 33)

    assert encode_record(record, 0).hex() == "010c00" + "11" + b"metadata.version".hex() + "002100"


@pytest.mark.parametrize("name", sorted({line["name"] for line in LINES}))
def test_recorded_metadata_values_are_decoded_as_by_kafka_and_encoded_back(name: str) -> None:
    for line in LINES:
        if line["name"] == name:
            value = bytes.fromhex(line["value"])
            record = decode_record(memoryview(value))

            assert encode_record(record, line["version"]) == value
            assert to_data(record, names="kafka", version=line["version"]) == line["data"]


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), st.sampled_from(METADATA))
def test_every_metadata_record_survives_a_round_trip(
    draw: st.DataObject, which: tuple[type, int]
) -> None:
    cls, version = which
    record = draw.draw(messages_of(cls, version))

    assert decode_record(encode_record(record, version)) == record


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("", "frame of a metadata record"),
        ("01", "frame of a metadata record"),
        ("0180", "frame of a metadata record"),
        ("01ffffffffff00", "frame of a metadata record"),
        ("000c00", "frame of version 0: want 1"),
        ("020c00", "frame of version 2: want 1"),
        ("010600", "unknown key 6, version 0"),
        ("01fa4e03", "unknown key 10106, version 3"),
        ("010c01", "FeatureLevelRecord has no version 1"),
        ("010c00026100", "FeatureLevelRecord version 0, feature_level"),
        ("010c000261002100ff", "1 bytes behind a FeatureLevelRecord"),
    ],
)
def test_a_malformed_or_unknown_metadata_record_is_refused(value: str, complaint: str) -> None:
    with pytest.raises(DecodeError, match=complaint):
        decode_record(bytes.fromhex(value))


def test_framing_a_message_that_is_not_a_metadata_record_is_refused() -> None:
    with pytest.raises(TypeError, match="MetadataRequest is no metadata record"):
        encode_record(MetadataRequest(), 0)
