"""Choice of partitions: keys, the sticky partition, load, and partitioners of users."""

from random import Random

import pytest

from trio_kafka.clients.errors import SerializationError
from trio_kafka.clients.metadata.values import PartitionLeader, TopicMetadata
from trio_kafka.clients.producer.partitioner import PartitionChoice, StickyPartitioner
from trio_kafka.records.partitioner import partition_of


def topic_of(*leaders):
    return TopicMetadata(
        name="t", partitions={n: PartitionLeader(node) for n, node in enumerate(leaders)}
    )


def choice_of(by_user=None, *, ignores_keys=False, queued=None, size=100):
    return PartitionChoice(
        by_user=by_user, ignores_keys=ignores_keys, size=size, random=Random(1), queued=queued
    )


def test_key_decides_the_partition_as_in_java():
    choice = choice_of()

    # Of Kafka's own DefaultPartitionerTest and Utils.murmur2.
    for key in (b"21", b"foobar", b"a-little-bit-long-string"):
        assert choice.choose(topic_of(1, 1, 1), key, b"v") == partition_of(key, 3)


@pytest.mark.parametrize("count", [1, 3])
def test_partitions_of_many_records_are_those_of_each(count):
    choice, topic = choice_of(), topic_of(*[1] * count)
    keys = [b"a", None, b"", b"a", b"foobar", None]

    for _ in range(2):
        assert choice.choose_many(topic, keys, [b"v"] * 6) == [
            choice.choose(topic, key, b"v") for key in keys
        ]
    assert choice.choose_many(topic, None, [b"v"] * 6) is None
    assert choice_of(ignores_keys=True).choose_many(topic, keys, [b"v"] * 6) is None


def test_partitions_of_many_keys_follow_a_topic_that_grows():
    choice, keys = choice_of(), [b"%d" % number for number in range(40_000)]

    for count, most in ((3, 1000), (5, 1000), (3, 40_000), (3, 1000)):
        partitions = choice.choose_many(topic_of(*[1] * count), keys[:most], keys[:most])
        assert partitions == [partition_of(key, count) for key in keys[:most]]


def test_records_without_a_key_stay_on_a_partition_until_it_has_its_bytes():
    sticky = StickyPartitioner(size=100, random=Random(1), loads=None)
    first = sticky.choose(range(10))

    sticky.added(99, is_full=True)
    assert sticky.choose(range(10)) == first
    sticky.added(1, is_full=True)
    assert sticky.partition is None


def test_switch_waits_for_a_batch_that_is_not_full_up_to_twice_the_size():
    sticky = StickyPartitioner(size=100, random=Random(1), loads=None)
    first = sticky.choose(range(10))

    sticky.added(150, is_full=False)
    assert sticky.choose(range(10)) == first
    sticky.added(50, is_full=False)
    assert sticky.partition is None


def test_partition_with_a_long_queue_is_chosen_less_often():
    counts = [0, 0, 0]
    sticky = StickyPartitioner(size=1, random=Random(1), loads=lambda _: [0, 3, 8])
    for _ in range(3000):
        counts[sticky.choose(range(3))] += 1
        sticky.added(2, is_full=True)

    # Weights are 9, 6 and 1 of 16.
    assert 1500 < counts[0] < 1900
    assert 950 < counts[1] < 1300
    assert 100 < counts[2] < 280


def test_partition_that_has_no_leader_is_left_for_another_one():
    choice = choice_of()
    first = choice.choose(topic_of(1, 1, 1), None, b"v")
    leaders = [-1 if number == first else 1 for number in range(3)]

    assert choice.choose(topic_of(*leaders), None, b"v") != first
    assert choice.choose(topic_of(-1, -1), None, b"v") in {0, 1}


def test_ignored_keys_go_to_the_sticky_partition():
    choice = choice_of(ignores_keys=True)

    assert len({choice.choose(topic_of(1, 1, 1), b"%d" % n, None) for n in range(50)}) == 1


def test_partitioner_looks_only_at_the_queues_of_its_own_topic():
    draws = []

    def queued(topic, partition):
        draws.append((topic, partition))
        return 0

    choice = choice_of(queued=queued)
    partition = choice.choose(topic_of(1, 1), None, b"v")
    choice.added("t", partition, 200, is_full=True)
    choice.added("unknown", 0, 200, is_full=True)
    choice.choose(topic_of(1, 1), None, b"v")

    assert draws == [("t", 0), ("t", 1)] * 2


def test_partitioner_of_the_user_gets_bytes_and_the_number_of_partitions():
    calls = []

    def last(topic, key, value, count):
        calls.append((topic, key, value, count))
        return count - 1

    assert choice_of(last).choose(topic_of(1, 1, 1), b"k", b"v") == 2
    assert calls == [("t", b"k", b"v", 3)]


@pytest.mark.parametrize("partition", [3, -1, None, "0"])
def test_wrong_result_of_a_partitioner_is_an_error(partition):
    with pytest.raises(
        SerializationError, match=r"t: the partitioner has returned .*: want 0 to 2"
    ):
        choice_of(lambda *_: partition).choose(topic_of(1, 1, 1), None, None)


def test_exception_of_a_partitioner_is_the_cause_of_the_error():
    def broken(*_):
        raise LookupError("mine")

    with pytest.raises(SerializationError, match="raised LookupError: mine"):
        choice_of(broken).choose(topic_of(1), None, None)
