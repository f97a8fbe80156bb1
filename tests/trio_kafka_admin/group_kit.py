"""Groups and topics in a broker with the admin UI."""

from tests.apis.kit import write
from tests.apis.test_k09_offset_fetch import commit
from tests.trio_kafka_admin.kit import Element
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from trio_kafka.testing.broker import ServedBroker
from trio_kafka.testing.scripted_client import ScriptedClient

HOSTILE = "<script>\u202e\x00'\"&group"
"""Name with markup, a control character and an override of the direction of text."""


async def heartbeat(
    served: ServedBroker | ScriptedClient, group: str, member: str, *topics: str, epoch: int = 0
) -> ConsumerGroupHeartbeatResponse:
    """Join a group of the new protocol, or go on with another epoch."""
    request = ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id=member,
        member_epoch=epoch,
        rebalance_timeout_ms=60_000 if not epoch else -1,
        subscribed_topic_names=list(topics) if not epoch else None,
        topic_partitions=[] if not epoch else None,
    )
    answer: ConsumerGroupHeartbeatResponse = await served.ask(request, 1)
    assert answer.error_code == 0, answer
    return answer


async def lagging_groups(served: ServedBroker, topic: str = "orders") -> None:
    """Topic with six records, and groups a, b and c: b lags most, c by nothing."""
    await served.create_topic(topic)
    await write(served, topic, *[b"x"] * 6)
    await served.serve_groups("a", "b", "c")
    for group, offset in (("a", 4), ("b", 1), ("c", 6)):
        await commit(served, group, topic, 0, offset)


def live_part(page: Element) -> Element:
    """Return the part of a page that is refreshed: what `show` has rendered."""
    [part] = [part for name in ("main", "div") for part in page.all(name, id="live")]
    return part
