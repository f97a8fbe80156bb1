"""A history is a list of plain events."""

from trio_kafka.model import TopicPartition
from trio_kafka.testing.checkers.history import Acknowledged, History, Read, Sent


def test_events_are_kept_in_order_with_their_partitions():
    history = History()

    history.sent("p", "t", "a")
    mark = history.mark()
    history.acknowledged("p", "t", 1, "a", offset=4)
    history.read("c", "t", 1, "a", offset=4)

    assert [type(event) for event in history.events] == [Sent, Acknowledged, Read]
    assert mark == 1
    assert history.events[0].at == TopicPartition("t", -1)
    assert [record.offset for record in history.of(Read)] == [4]
