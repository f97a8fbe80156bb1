"""Heartbeats and their answers, as values."""

from trio_kafka.coordinators.groups.consumer.values import (
    SAME,
    Heartbeat,
    HeartbeatAnswer,
    OwnedTopic,
)


def test_omitted_heartbeat_fields_mean_no_change() -> None:
    heartbeat = Heartbeat(group_id="g", member_id="m", epoch=1, client_id="c", client_host="h")

    assert heartbeat.rebalance_timeout_ms == SAME
    assert (heartbeat.topics, heartbeat.regex, heartbeat.assignor, heartbeat.owned) == (None,) * 4
    assert (heartbeat.instance_id, heartbeat.rack_id) == (None, None)


def test_heartbeat_answer_has_no_assignment_by_default() -> None:
    assert HeartbeatAnswer("m", 3).assignment is None
    assert OwnedTopic(b"x", [1]).partitions == [1]
