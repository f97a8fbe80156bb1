"""A broker acts as an older release of Kafka, for real clients."""

import pytest
from confluent_kafka import Producer

from tests.testing.kafka.kit import consumer, values
from trio_kafka.controls.ask import ask
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.testing.kafka.releases import UnknownReleaseError
from trio_kafka.testing.kafka.threaded import running_broker
from trio_kafka.testing.processes import ask_api_versions


def served(kafka) -> dict[int, tuple[int, int]]:
    host, _, port = kafka.bootstrap.rpartition(":")
    return ask_api_versions((host, int(port)))


def features(kafka) -> tuple[dict[str, int], dict[str, int]]:
    async def versions():
        return await ask(kafka.broker, ApiVersionsRequest("test", "1"), 4)

    answer = kafka.thread.call(versions)
    supported = {feature.name: feature.max_version for feature in answer.supported_features}
    return supported, {
        feature.name: feature.max_version_level for feature in answer.finalized_features
    }


def test_broker_offers_the_versions_and_features_of_its_release():
    with running_broker(as_version="3.9", topics=["orders"]) as kafka:
        apis = served(kafka)
        assert apis[1] == (4, 17)
        assert apis[0][1] == 11
        assert 68 not in apis
        assert 10_001 in apis
        supported, finalized = features(kafka)
        assert supported == {"metadata.version": 21, "kraft.version": 1}
        assert finalized["metadata.version"] == 21
        assert "group.version" not in finalized


def test_upgrade_keeps_records_and_a_connected_client_continues(kafka):
    kafka.as_version("3.3")
    assert served(kafka)[1][1] == 13
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    producer.produce("orders", b"old", partition=0)
    assert producer.flush(10) == 0
    kafka.as_version(None)
    assert served(kafka)[1][1] >= 18
    producer.produce("orders", b"new", partition=0)
    assert producer.flush(10) == 0
    assert values(kafka.records("orders", partition=0)) == [b"old", b"new"]


@pytest.mark.parametrize("release", ["0.11", "1.1", "2.1", "2.8", "3.6", "4.1"])
def test_a_client_works_with_each_release(release):
    with running_broker(as_version=release) as kafka:
        kafka.create_topic("orders")
        producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
        producer.produce("orders", b"x")
        assert producer.flush(20) == 0
        client = consumer(kafka)
        try:
            assert [message.value() for message in client.consume(1, timeout=20)] == [b"x"]
        finally:
            client.close()


@pytest.mark.parametrize("release", ["0.11", "2.8", "3.4", "3.6", "3.7", "3.9"])
def test_calls_of_the_kit_work_with_each_release(release):
    with running_broker(as_version=release, topics=["orders"]) as kafka:
        kafka.produce("orders", "a")
        reader = consumer(kafka)
        try:
            assert [message.value() for message in reader.consume(1, timeout=20)] == [b"a"]
            reader.commit(asynchronous=False)
            group = kafka.wait_for_group("g", state="Stable", members=1)
            kafka.advance(hours=1)
            later = kafka.group("g")
        finally:
            reader.close()
        kafka.produce("orders", "b", transactional_id="pay")
        open_transactions = kafka.transactions()
        kafka.commit("pay")
        ended = kafka.wait_for_transaction("pay", "CompleteCommit")
        committed = kafka.records("orders", committed=True)
        kafka.delete_topic("orders")

        assert (group.type, group.total_lag) == ("classic", 0)
        assert group.offsets == {("orders", 0): 1}
        assert later.members == group.members
        [transaction] = open_transactions
        assert (transaction.state, transaction.partitions) == ("Ongoing", (("orders", 0),))
        assert transaction.producer_id == ended.producer_id
        assert values(committed) == [b"a", b"b"]
        assert kafka.topics() == []


def test_transactions_of_the_kit_work_with_capped_versions_and_an_api_that_is_switched_off(kafka):
    for api, last in {"EndTxn": 3, "AddPartitionsToTxn": 2, "Produce": 10}.items():
        kafka.controls.cap_versions(api, last)
    kafka.controls.switch_off("ListTransactions")

    kafka.produce("orders", "a", transactional_id="pay")
    kafka.commit("pay")

    assert kafka.wait_for_transaction("pay", "CompleteCommit").partitions == ()
    assert values(kafka.wait_for_records("orders", 1, committed=True)) == [b"a"]


def test_an_unknown_release_is_refused():
    with pytest.raises(UnknownReleaseError, match="want one of"), running_broker(as_version="9.9"):
        pass
