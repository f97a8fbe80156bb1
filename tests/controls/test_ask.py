"""Requests of the kit fail with Kafka's errors."""

import pytest

from trio_kafka.controls.values import Record
from trio_kafka.errors import ErrorCode, KafkaError


def test_kit_calls_raise_kafka_errors_with_kafkas_error_codes(kafka):
    with pytest.raises(KafkaError) as caught:
        kafka.records("missing")
    assert caught.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    with pytest.raises(KafkaError) as caught:
        kafka.create_topic("orders")
    assert caught.value.code is ErrorCode.TOPIC_ALREADY_EXISTS
    with pytest.raises(KafkaError, match="orders-7: the topic has 3 partitions"):
        kafka.produce("orders", Record(value=b"x", partition=7))
    with pytest.raises(KafkaError) as caught:
        kafka.records("orders", start=5)
    assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
