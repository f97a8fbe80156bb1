"""Sources of tests whose trouble is about a group: a member, its lag."""

from typing import Final

from trio_kafka_admin.copying import loads
from trio_kafka_admin.copying.literals import client, literal
from trio_kafka_admin.copying.loads import Load
from trio_kafka_admin.copying.module_parts import fault_of, module, topic_line
from trio_kafka_admin.copying.trouble import Trouble

_OF_MEMBERS: Final = ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup")


def silent_member(trouble: Trouble) -> str:
    """A member whose heartbeats and joins do not arrive, while another one waits for it."""
    topic, group = trouble.topic or loads.TOPIC, trouble.group_id or loads.GROUP
    silent = trouble.client_id or "silent"
    short = {"group.id": group, "session.timeout.ms": 6000, "heartbeat.interval.ms": 500}
    others = client("other", "Consumer", {**short, "client.id": "other"})
    return module(
        "silent_member",
        "A member of the group says nothing more, and the others wait for it.",
        Load("Consumer", ()),
        [
            f"kafka.create_topic({literal(topic)}, 2)",
            *client("member", "Consumer", {**short, "client.id": silent}),
            f"member.subscribe([{literal(topic)}])",
            "while not member.assignment():",
            "    member.poll(0.1)",
            f"apis = {literal(_OF_MEMBERS)}",
            fault_of("apis", client_id=silent, hold=True),
            *(f"    {line}" for line in others),
            f"    other.subscribe([{literal(topic)}])",
            "    other.poll(0.1)",
            "    fault.wait(timeout_s=30)",
            f"    group = kafka.group({literal(group)})",
            'assert group.state == "PreparingRebalance"',
            "other.close()",
            "member.close()",
        ],
    )


def crash_loop(trouble: Trouble) -> str:
    topic, group = trouble.topic or loads.TOPIC, trouble.group_id or loads.GROUP
    rounds = max(1, min(trouble.amount, 20))
    settings = {"group.id": group, "client.id": trouble.client_id or "crashing"}
    return module(
        "crash_loop",
        f"A consumer joins and leaves its group {rounds} times.",
        Load("Consumer", ()),
        [
            topic_line(trouble),
            f"for _ in range({rounds}):",
            *(f"    {line}" for line in client("consumer", "Consumer", settings)),
            f"    consumer.subscribe([{literal(topic)}])",
            "    while not consumer.assignment():",
            "        consumer.poll(0.1)",
            "    consumer.close()",
            f"assert not kafka.group({literal(group)}).members",
        ],
    )


def lagging_group(trouble: Trouble) -> str:
    """Records behind a committed offset."""
    topic, group = trouble.topic or loads.TOPIC, trouble.group_id or loads.GROUP
    lag, partition = max(1, trouble.amount), trouble.partition
    load = loads.produce(topic, partition, trouble.client_id, records=lag)
    return module(
        "lagging_group",
        f"The group lags by {lag} records in one partition.",
        Load("Consumer, Producer, TopicPartition", load.lines),
        [
            topic_line(trouble),
            *client("consumer", "Consumer", {"group.id": group}),
            f"position = TopicPartition({literal(topic)}, {partition}, 0)",
            "consumer.commit(offsets=[position], asynchronous=False)",
            *load.lines,
            "low, high = consumer.get_watermark_offsets(position)",
            "[committed] = consumer.committed([position])",
            f"assert high - committed.offset == {lag}",
            "consumer.close()",
        ],
    )
