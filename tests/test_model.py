import pytest

from trio_kafka.model import METADATA_TOPIC_ID, ZERO_TOPIC_ID, Endpoint, TopicPartition


def test_partition_is_written_as_topic_and_number_like_its_directory() -> None:
    assert str(TopicPartition("a-1", 2)) == "a-1-2"


def test_partitions_are_keys_in_order_of_topic_and_number() -> None:
    result = {TopicPartition("b", 0), TopicPartition("a", 10), TopicPartition("a", 9)}

    assert [str(each) for each in sorted(result)] == ["a-9", "a-10", "b-0"]
    assert TopicPartition("b", 0) in result


@pytest.mark.parametrize(
    ("host", "text"),
    [("localhost", "localhost:9092"), ("127.0.0.1", "127.0.0.1:9092"), ("::1", "[::1]:9092")],
)
def test_an_endpoint_is_written_as_an_address(host: str, text: str) -> None:
    assert str(Endpoint(host, 9092)) == text


def test_topic_ids_are_16_bytes() -> None:
    assert (len(ZERO_TOPIC_ID), len(METADATA_TOPIC_ID)) == (16, 16)
    assert ZERO_TOPIC_ID != METADATA_TOPIC_ID
