"""Records are produced and read without a client library."""

from confluent_kafka import Producer

from tests.testing.kafka.kit import consumer, values
from trio_kafka.controls.values import Record


def test_records_are_produced_and_read_without_a_client(kafka):
    stored = kafka.produce("orders", b"a", "b", None)
    keyed = kafka.produce(
        "orders",
        Record(value="c", key="k", headers=[("h", b"1")], timestamp_ms=5),
        Record(value="d", partition=2),
    )

    assert values(stored) == [b"a", b"b", None]
    assert [record.partition for record in stored] == [0, 1, 2]
    assert keyed[0].headers == (("h", b"1"),)
    assert keyed[0].timestamp_ms == 5
    assert keyed[1].partition == 2
    result = kafka.records("orders")
    assert sorted(result, key=repr) == sorted([*stored, *keyed], key=repr)
    last = keyed[1]
    assert kafka.records("orders", partition=2, start=last.offset) == [last]


def test_client_and_test_kit_read_records_produced_by_each_other(kafka):
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    producer.produce("orders", b"from a client", partition=0)
    producer.flush()
    kafka.produce("orders", Record(value=b"from the kit", partition=0))

    client = consumer(kafka)
    try:
        assert [message.value() for message in client.consume(2, timeout=10)] == [
            b"from a client",
            b"from the kit",
        ]
    finally:
        client.close()
    assert values(kafka.records("orders", partition=0)) == [b"from a client", b"from the kit"]
