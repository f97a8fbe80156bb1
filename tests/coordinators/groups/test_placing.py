"""Where groups are: Java's hash codes."""

import pytest

from trio_kafka.coordinators.groups.placing import java_hash, partition_of


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        ("a", 97),
        ("group", 98629247),
        ("my-consumer-group", 1513705513),
        ("consumers", -421004483),
        ("polygenelubricants", -0x80000000),
        ("\u00e9", 233),
        ("\U0001f600", 1772899),
    ],
)
def test_texts_have_the_hash_codes_of_java(text: str, value: int) -> None:
    assert java_hash(text) == value


def test_the_partition_is_that_of_the_absolute_value() -> None:
    assert partition_of("group", 50) == 98629247 % 50
    assert partition_of("consumers", 50) == 421004483 % 50
    assert partition_of("polygenelubricants", 50) == 0
