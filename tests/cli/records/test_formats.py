"""Formats of kcat."""

import pytest

from trio_kafka.cli.records.formats import record_format
from trio_kafka.clients.consumer.values import ConsumerRecord

RECORD = ConsumerRecord("t", 3, 7, 1_000, b"k", b"tea", (("a", b"1"), ("b", None)))
EMPTY = ConsumerRecord("t", 0, 0, -1, None, None)


def test_every_part_is_formatted():
    text = r"%t %p %o %T %k %K %s %S %h 100%%\n"

    assert record_format(text)(RECORD) == b"t 3 7 1000 k 1 tea 3 a=1,b=NULL 100%\n"
    assert record_format("%R")(RECORD) == b"\0\0\0\3"


def test_nulls_are_empty_and_have_the_length_minus_one():
    assert record_format("[%k%s] %K %S")(EMPTY) == b"[] -1 -1"


@pytest.mark.parametrize("text", ["%x", "%", r"\q"])
def test_unknown_part_is_rejected(text):
    with pytest.raises(ValueError):
        record_format(text)
