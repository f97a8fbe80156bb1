"""Lag of a partition."""

from trio_kafka.cli.group.groups import PartitionLag
from trio_kafka.model import TopicPartition

AT = TopicPartition("t", 0)


def test_lag_is_never_negative_and_unknown_without_an_offset():
    assert PartitionLag(at=AT, committed=3, end=5).lag == 2
    assert PartitionLag(at=AT, committed=5, end=3).lag == 0
    assert PartitionLag(at=AT, committed=None, end=3).lag is None
