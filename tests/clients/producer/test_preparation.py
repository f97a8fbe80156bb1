"""Serialization and size checks, before anything is queued."""

import pytest

from trio_kafka.clients.errors import RecordTooLargeError, SerializationError
from trio_kafka.clients.producer.preparation import RecordPreparation
from trio_kafka.clients.producer.record import ProducerRecord, as_bytes


def preparation_of(value_serializer=as_bytes, *, largest=1000, memory=5000):
    return RecordPreparation(
        key_serializer=as_bytes, value_serializer=value_serializer, largest=largest, memory=memory
    )


def test_null_stays_null_and_is_not_serialized():
    def never(value):
        raise AssertionError

    assert preparation_of(never).prepare(ProducerRecord("t", None))[:2] == (None, None)


def test_exception_of_a_serializer_is_the_cause_of_the_error():
    def broken(value):
        raise LookupError("mine")

    with pytest.raises(SerializationError, match="t-3: the serializer has raised LookupError: m"):
        preparation_of(broken).prepare(ProducerRecord("t", b"v", partition=3))


def test_serializer_that_returns_a_text_is_an_error():
    with pytest.raises(SerializationError, match="serialized as NoneType and str: want bytes"):
        preparation_of(str).prepare(ProducerRecord("t", 5))


@pytest.mark.parametrize(
    ("limits", "setting"),
    [({"largest": 900}, "max.request.size"), ({"memory": 900}, "buffer.memory")],
)
def test_record_above_a_limit_is_an_error_that_names_the_setting(limits, setting):
    record = ProducerRecord("t", bytes(900))

    with pytest.raises(RecordTooLargeError, match=f"{setting} allows 900"):
        preparation_of(**limits).prepare(record)
    assert preparation_of().prepare(record)[1] == bytes(900)
