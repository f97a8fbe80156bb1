"""Records as text."""

import pytest

from tests.trio_kafka_spark.jobs.kit import record, records, tuples
from trio_kafka_spark.jobs.dump import dump

pytestmark = pytest.mark.spark


def test_dumped_records_are_ordered_by_partition_and_offset(spark):
    entries = [record(2), record(1, partition=1), record(0, partition=1), record(1)]

    assert tuples(dump(records(spark, *entries)), "partition", "offset") == [
        (0, 1),
        (0, 2),
        (1, 0),
        (1, 1),
    ]


def test_dumped_bytes_are_utf8_text_or_hexadecimal_digits_or_null(spark):
    headers = [("a", b"\xc3\xa9"), ("b", None), ("c", b"\xff")]
    entries = [record(0, "é".encode(), b"\x00\xff\x10", headers=headers), record(1, None, b"")]

    first, second = dump(records(spark, *entries)).collect()

    assert (first["key"], first["value"]) == ("é", "0x00ff10")
    assert (first["key_bytes"], first["value_bytes"]) == (2, 3)
    assert first["headers"] == ["a=é", "b=null", "c=0xff"]
    assert (second["key"], second["value"], second["headers"]) == (None, "", [])
    assert (second["key_bytes"], second["value_bytes"]) == (-1, 0)
    assert first["timestamp_type"] == "CreateTime"


def test_dumped_texts_are_cut_at_the_given_length_and_headers_are_optional(spark):
    frame = records(spark, record(0, b"k", b"x" * 100)).drop("headers")

    result = dump(frame, longest=10)

    assert "headers" not in result.columns
    assert (result.first()["value"], result.first()["value_bytes"]) == ("x" * 10, 100)
