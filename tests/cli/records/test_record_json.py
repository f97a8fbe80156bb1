"""Records as JSON lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.cli.records.encodings import BASE64, HEX, TEXT
from trio_kafka.cli.records.record_json import read_record, record_writer
from trio_kafka.clients.consumer.values import ConsumerRecord

NULLABLE = st.none() | st.binary(max_size=30)
FORMS = st.sampled_from([TEXT, HEX, BASE64])


@given(
    key=NULLABLE,
    value=NULLABLE,
    headers=st.lists(st.tuples(st.text(max_size=8), NULLABLE), max_size=4),
    forms=st.tuples(FORMS, FORMS, FORMS),
)
def test_record_comes_back_from_its_line(key, value, headers, forms):
    record = ConsumerRecord("t", 3, 7, 1_000, key, value, tuple(headers))

    line = record_writer(*forms)(record)
    read = read_record(line)

    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    assert (read.topic, read.partition, read.timestamp_ms) == ("t", 3, 1_000)
    assert (read.key, read.value, read.headers) == (key, value, tuple(headers))


def test_headers_may_be_an_object():
    assert read_record(b'{"value": "v", "headers": {"a": null}}').headers == (("a", None),)


def test_record_without_a_time_has_none_on_the_way_back():
    assert read_record(b'{"value": null, "timestamp_ms": -1}').timestamp_ms is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"tea", "Expecting value"),
        (b"[]", "want a JSON object"),
        (b"{}", 'no `value`: write "value": null'),
        (b'{"valeu": "v"}', "unknown name 'valeu'"),
        (b'{"value": 1}', "`value`: 1: want a text, null"),
        (b'{"value": "v", "partition": "0"}', '`partition` is "0": want a whole number'),
        (b'{"value": "v", "partition": true}', "want a whole number"),
        (b'{"value": "v", "headers": [["a"]]}', "want [name, value]"),
        (b'{"value": "v", "headers": "a"}', "want a list of [name, value]"),
        (b'{"value": "v", "topic": 1}', "want a text"),
    ],
)
def test_wrong_line_says_what_is_wrong(line, words):
    with pytest.raises(ValueError) as failure:
        read_record(line)

    assert words in str(failure.value)
