"""Transactions of a broker under test: written by the kit, described, waited for, timed out."""

import pytest
from confluent_kafka import Producer

from tests.testing.kafka.kit import values
from trio_kafka.controls.values import Record
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.testing.kafka.threaded import Kafka, running_broker
from trio_kafka.testing.kafka.waiting import NotReachedError

ID = "payments"


def client_producer(kafka: Kafka) -> Producer:
    producer = Producer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "transactional.id": ID,
            "transaction.timeout.ms": 60_000,
            "log_level": 0,
        }
    )
    producer.init_transactions(10)
    return producer


def test_records_of_a_transaction_are_committed_after_its_end_and_not_before(kafka):
    kafka.produce("orders", "a", "b", transactional_id=ID)
    kafka.produce("orders", "c", transactional_id=ID)

    assert len(kafka.records("orders")) == 3
    assert kafka.records("orders", committed=True) == []
    kafka.commit(ID)

    read = kafka.wait_for_records("orders", 3, committed=True)
    assert sorted(values(read)) == [b"a", b"b", b"c"]
    assert kafka.wait_for_transaction(ID, "CompleteCommit").partitions == ()


def test_records_of_an_aborted_transaction_are_left_out_of_the_committed_ones(kafka):
    for number in range(3):
        kafka.produce("orders", Record(value=f"{number}", partition=0), transactional_id=ID)
        (kafka.abort if number == 1 else kafka.commit)(ID)
    kafka.wait_for_transaction(ID, "CompleteCommit")

    assert values(kafka.records("orders")) == [b"0", b"1", b"2"]
    assert values(kafka.records("orders", committed=True)) == [b"0", b"2"]


def test_a_transaction_that_timed_out_fails_one_call_and_the_next_begins_anew(kafka):
    kafka.produce("orders", "a", transactional_id=ID)
    kafka.advance(seconds=90)
    kafka.wait_for_transaction(ID, "CompleteAbort")

    with pytest.raises(KafkaError) as raised:
        kafka.produce("orders", "b", transactional_id=ID)
    kafka.produce("orders", "c", transactional_id=ID)
    kafka.commit(ID)

    assert raised.value.code in {ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH}
    assert values(kafka.wait_for_records("orders", 1, committed=True)) == [b"c"]


def test_a_transaction_that_a_client_has_fenced_fails_one_call_and_the_next_begins_anew(kafka):
    kafka.produce("orders", "a", transactional_id=ID)
    client_producer(kafka)

    with pytest.raises(KafkaError):
        kafka.produce("orders", "b", transactional_id=ID)
    kafka.produce("orders", "c", transactional_id=ID)
    kafka.commit(ID)

    assert values(kafka.wait_for_records("orders", 1, committed=True)) == [b"c"]


def test_end_of_a_transaction_that_the_kit_has_not_begun_is_an_error(kafka):
    with pytest.raises(KafkaError, match="no open transaction of 'payments'") as raised:
        kafka.commit(ID)

    assert raised.value.code is ErrorCode.INVALID_TXN_STATE


def test_transaction_of_a_client_is_described_with_its_producer_partitions_and_age(kafka):
    assert kafka.transactions() == []
    assert kafka.transaction(ID).state == "Dead"
    producer = client_producer(kafka)
    assert kafka.transaction(ID).age_s is None
    producer.begin_transaction()
    producer.produce("orders", b"tea", partition=2)
    producer.flush(10)
    kafka.advance(seconds=5)

    (transaction,) = kafka.transactions()

    assert (transaction.transactional_id, transaction.state) == (ID, "Ongoing")
    assert transaction.partitions == (("orders", 2),)
    assert transaction.producer_id >= 0
    assert transaction.producer_epoch == 0
    assert transaction.timeout_s == 60
    assert 5 <= transaction.age_s < 15
    producer.abort_transaction(10)


def test_transaction_of_a_connected_client_times_out_when_the_clock_advances(kafka):
    producer = client_producer(kafka)
    producer.begin_transaction()
    producer.produce("orders", b"tea", partition=0)
    producer.flush(10)

    kafka.advance(seconds=55)
    assert kafka.transaction(ID).state == "Ongoing"
    kafka.advance(seconds=20)

    kafka.wait_for_transaction(ID, "CompleteAbort")
    kafka.produce("orders", Record(value="coffee", partition=0))
    assert values(kafka.records("orders", committed=True)) == [b"coffee"]


def test_error_for_a_state_that_is_not_reached_has_the_transaction(kafka):
    kafka.produce("orders", "a", transactional_id=ID)

    with pytest.raises(NotReachedError, match=r"state CompleteCommit.*state='Ongoing'"):
        kafka.wait_for_transaction(ID, "CompleteCommit", timeout_s=0.05)


def test_kit_writes_transactions_to_a_broker_of_an_older_release_and_after_a_restart():
    with running_broker(topics=["orders"], as_version="3.9") as kafka:
        kafka.produce("orders", "a", transactional_id=ID)
        kafka.restart()
        kafka.produce("orders", "b", transactional_id=ID)
        kafka.commit(ID)

        assert values(kafka.wait_for_records("orders", 2, committed=True)) == [b"a", b"b"]


@pytest.mark.parametrize("api", ["InitProducerId", "AddPartitionsToTxn", "Produce", "EndTxn"])
def test_fault_rule_about_a_transactional_id_strikes_requests_of_this_id_only(kafka, api):
    with kafka.fault(api=api, transactional_id="other", error="UNKNOWN_SERVER_ERROR") as other:
        fault = kafka.fault(api=api, transactional_id="pay*", delay_s=0.001)
        producer = client_producer(kafka)
        producer.begin_transaction()
        producer.produce("orders", b"tea", partition=0)
        producer.commit_transaction(10)

        assert fault.hits == 1
        assert (other.seen, other.hits) == (0, 0)
    assert values(kafka.wait_for_records("orders", 1, committed=True)) == [b"tea"]


def test_fault_rule_about_a_topic_fails_only_its_partitions_of_an_added_list(kafka):
    fault = kafka.fault(api="AddPartitionsToTxn", topic="orders", error="NOT_COORDINATOR", times=1)
    producer = client_producer(kafka)
    producer.begin_transaction()
    producer.produce("orders", b"tea", partition=0)
    producer.produce("invoices", b"tea")
    producer.commit_transaction(10)

    assert fault.hits == 1
    for topic in ("orders", "invoices"):
        assert values(kafka.wait_for_records(topic, 1, committed=True)) == [b"tea"]
