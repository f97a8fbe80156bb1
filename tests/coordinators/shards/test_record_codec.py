"""Codec of one internal topic: type numbers mean something in their own topic only."""

from collections.abc import Iterable
from types import ModuleType

import pytest

from trio_kafka.coordinators.groups.stored_records import GROUP_RECORDS
from trio_kafka.coordinators.shards.effects import CoordinatorRecord
from trio_kafka.coordinators.shards.record_codec import RecordCodec, UnknownTypeError
from trio_kafka.errors import KafkaError
from trio_kafka.protocol.stored import transactions
from trio_kafka.protocol.stored.consumer_protocol import ConsumerProtocolSubscription
from trio_kafka.protocol.stored.groups import consumer
from trio_kafka.protocol.stored.transactions import TransactionLogKey, TransactionLogValue

TRANSACTIONS = RecordCodec(transactions, written={TransactionLogValue: 0})
RECORD = CoordinatorRecord(TransactionLogKey("id"), TransactionLogValue(7, producer_epoch=1))


def test_record_is_written_in_the_version_that_its_topic_names() -> None:
    key, value = TRANSACTIONS.encode(RECORD)

    assert key == b"\x00\x00\x00\x02id"
    assert value is not None
    assert value[:2] == b"\x00\x00"
    assert TRANSACTIONS.decode(key, value) == CoordinatorRecord(RECORD.key, RECORD.value, 0)


def test_record_without_a_named_version_is_written_in_the_newest_one() -> None:
    _, value = RecordCodec(transactions).encode(RECORD)

    assert value is not None
    assert value[:2] == b"\x00\x01"


def test_version_of_a_record_wins_over_the_one_of_its_topic() -> None:
    _, value = TRANSACTIONS.encode(CoordinatorRecord(RECORD.key, RECORD.value, 1))

    assert value is not None
    assert value[:2] == b"\x00\x01"


def test_equal_type_numbers_of_two_topics_are_different_records() -> None:
    key, _ = TRANSACTIONS.encode(RECORD)

    assert type(GROUP_RECORDS.decode(key + b"\x00\x01t\x00\x00\x00\x00", None).key) is not type(
        TRANSACTIONS.decode(key, None).key
    )


def test_modules_of_unserved_types_are_asked_for_once_and_only_for_an_unknown_type() -> None:
    calls: list[str] = []

    def unserved() -> Iterable[ModuleType]:
        calls.append("unserved")
        return (consumer,)

    codec = RecordCodec(transactions, unserved=unserved)
    codec.decode(*codec.encode(RECORD))
    assert calls == []

    for _ in range(2):
        with pytest.raises(UnknownTypeError, match="type 99"):
            codec.decode(b"\x00\x63", None)
    assert calls == ["unserved"]
    assert set(codec.all_types()) > {0, 3}


@pytest.mark.parametrize(
    ("record", "field"),
    [
        (CoordinatorRecord(TransactionLogKey("x" * 32_768)), "TransactionLogKey"),
        (CoordinatorRecord(RECORD.key, TransactionLogValue(7, producer_epoch=32_768)), "epoch"),
    ],
)
def test_record_with_a_value_that_does_not_fit_is_refused_with_an_error_for_the_client(
    record: CoordinatorRecord, field: str
) -> None:
    with pytest.raises(KafkaError, match=f"UNKNOWN_SERVER_ERROR.*{field}"):
        TRANSACTIONS.encode(record)


def test_message_that_is_no_key_of_a_record_cannot_be_encoded() -> None:
    with pytest.raises(TypeError, match="ConsumerProtocolSubscription is not the key"):
        TRANSACTIONS.encode(CoordinatorRecord(ConsumerProtocolSubscription()))
