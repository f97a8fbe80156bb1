import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.log.kit import sample
from trio_kafka.log.files.partition_metadata import NAME, decode, encode, format_id, parse_id
from trio_kafka.model import METADATA_TOPIC_ID, TopicId


def test_partition_metadata_of_apache_kafka_is_read_and_written_unchanged():
    content = sample("epochs")["epochs-0"][NAME]

    assert encode(decode(content)) == content
    assert format_id(decode(content)) == "YMeKavazTnWkzaGVPtHB8Q"


def test_the_metadata_topic_has_its_well_known_id():
    assert format_id(METADATA_TOPIC_ID) == "AAAAAAAAAAAAAAAAAAAAAQ"


@given(st.binary(min_size=16, max_size=16))
def test_topic_id_is_the_same_after_writing_and_reading(value):
    assert parse_id(format_id(value)) == value
    assert decode(encode(TopicId(value))) == value


@pytest.mark.parametrize(
    "content", [b"", bytes(43), b"version: 1\ntopic_id: " + b"A" * 22, b"version: 0\ntopic_id: A"]
)
def test_incomplete_partition_metadata_is_an_error(content):
    with pytest.raises(ValueError):
        decode(content)
