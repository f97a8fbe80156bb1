import pytest

from trio_kafka.log.files.names import (
    DELETE,
    FUTURE,
    INDEX,
    LOG,
    STRAY,
    marked_directory,
    names_partition,
    offset_file,
    offsets_of,
    parse_directory,
    parse_offset_file,
)
from trio_kafka.model import TopicPartition


def test_an_offset_has_twenty_digits_in_a_name():
    assert offset_file(12, LOG) == "00000000000000000012.log"
    assert parse_offset_file("00000000000000000012.log") == (12, ".log")


def test_offsets_of_files_with_a_suffix_ascend():
    names = [offset_file(offset, suffix) for offset in (7, 0, 3) for suffix in (LOG, INDEX)]

    assert offsets_of([*names, offset_file(9, ".timeindex"), "x.index"], INDEX) == [0, 3, 7]


@pytest.mark.parametrize(
    "name", ["12.log", "leader-epoch-checkpoint", "00000000000000000012.log.deleted", "x.log"]
)
def test_other_names_are_not_parsed_as_offset_files(name):
    assert parse_offset_file(name) is None


@pytest.mark.parametrize(
    ("name", "topic", "partition"),
    [("t-0", "t", 0), ("a-b-12", "a-b", 12), ("__consumer_offsets-49", "__consumer_offsets", 49)],
)
def test_name_of_a_live_directory_is_topic_and_partition(name, topic, partition):
    assert parse_directory(name) == (TopicPartition(topic, partition), "")


@pytest.mark.parametrize("mark", [DELETE, FUTURE, STRAY])
def test_name_of_a_marked_directory_is_parsed_again(mark):
    partition = TopicPartition("a.b-c", 3)

    name = marked_directory(partition, bytes(range(16)), mark)

    assert name == f"a.b-c-3.000102030405060708090a0b0c0d0e0f{mark}"
    assert parse_directory(name) == (partition, mark)


def test_name_of_a_directory_deleted_by_apache_kafka_is_parsed():
    name = "todelete-0.6484595d4255413b8e8b0d10a63cbabd-delete"

    assert parse_directory(name) == (TopicPartition("todelete", 0), DELETE)


def test_a_long_topic_is_cut_so_that_the_name_fits():
    name = marked_directory(TopicPartition("t" * 249, 17), bytes(16), DELETE)

    assert len(name) == 255
    assert name.endswith(f"-17.{'0' * 32}-delete")


@pytest.mark.parametrize("name", ["lost+found", "remote-log-index-cache", "t-", "-0", "t-x"])
def test_other_directory_names_are_not_parsed_as_partitions(name):
    assert parse_directory(name) is None


@pytest.mark.parametrize("name", ["t-0", "a.b_c-2147483647", "-1-1"])
def test_valid_directory_name_names_its_partition(name: str) -> None:
    partition, _ = parse_directory(name)

    assert names_partition(name, partition)


@pytest.mark.parametrize("name", ["t-00", "t-2147483648", "t t-0", "ä-0", f"{'t' * 250}-0", "t-٣"])
def test_directory_name_that_kafka_does_not_make_names_no_partition(name: str) -> None:
    partition, _ = parse_directory(name)

    assert not names_partition(name, partition)
