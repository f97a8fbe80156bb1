"""Values of metadata."""

from trio_kafka.clients.metadata.values import PartitionLeader, TopicMetadata
from trio_kafka.errors import ErrorCode


def test_topic_is_usable_with_partitions_and_without_an_error():
    partitions = {0: PartitionLeader(1, 5)}

    assert TopicMetadata(name="t", partitions=partitions).is_usable
    assert not TopicMetadata(name="t").is_usable
    error = ErrorCode.LEADER_NOT_AVAILABLE
    assert not TopicMetadata(name="t", partitions=partitions, error=error).is_usable
