"""Parts that a request asks for and does not name."""

from types import SimpleNamespace
from typing import Any

from trio.testing import MockClock

from tests.apis.kit import fetch_request
from trio_kafka.controls.faults.asked_parts import in_full, names_in, parts_of
from trio_kafka.controls.faults.parts import Names
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from trio_kafka.protocol.messages.k12_heartbeat import HeartbeatRequest
from trio_kafka.requests.context import Context
from trio_kafka.requests.parts import Parts as BrokerParts
from trio_kafka.requests.registry import Registry
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world

BY_NAME = 12


def context_of(served: ServedBroker) -> Any:
    return context_on(served.broker.parts)


def context_on(parts: BrokerParts) -> Context:
    request: Any = SimpleNamespace(code=0)
    return Context(request, parts, 0)


async def test_metadata_request_names_all_partitions_of_its_topics(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        topic_id = await served.create_topic("t", 2)
        context = context_of(served)
        parts = parts_of(context)

        def names(request: Any) -> list[Names]:
            return list(names_in(request, context, parts))

        every = [Names(topic="t", partition=0), Names(topic="t", partition=1)]
        assert [name for name in names(MetadataRequest(topics=None)) if name.topic == "t"] == every
        assert names(MetadataRequest([MetadataRequestTopic(name="t")])) == every
        assert names(MetadataRequest([MetadataRequestTopic(topic_id, None)])) == every
        assert names(MetadataRequest([MetadataRequestTopic(name="new")])) == [Names(topic="new")]
        assert names(MetadataRequest([])) == [Names()]
        assert names(HeartbeatRequest("g")) == [Names(group="g")]


async def test_incremental_fetch_names_all_partitions_of_its_fetch_session(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        await served.create_topic("t", 2)
        begun = await served.ask(fetch_request("t", 0, 0, session_epoch=0), BY_NAME)
        context = context_of(served)

        def poll(session_id: int, *offsets: int) -> Any:
            topic = "t" if offsets else None
            return fetch_request(topic, *offsets, session_id=session_id, session_epoch=1)

        request = poll(begun.session_id, 5)
        full = in_full(request, context)

        assert list(names_in(request, context, parts_of(context))) == [
            Names(topic="t", partition=0),
            Names(topic="t", partition=1),
        ]
        assert len(request.topics) == 1
        assert full.topics[0].partitions[0].fetch_offset == 5
        assert in_full(poll(begun.session_id + 1), context).topics == []
        anew = fetch_request(None, session_id=begun.session_id, session_epoch=0)
        assert in_full(anew, context).topics == []


def test_broker_without_topics_resolves_no_topic_id() -> None:
    bare = BrokerParts(apis=Registry(), node_id=1, cluster_id="c")  # type: ignore[arg-type]
    context = context_on(bare)

    assert parts_of(context).name_of(b"i" * 16) is None  # type: ignore[arg-type]
    assert list(names_in(MetadataRequest(topics=None), context, parts_of(context))) == []
    request = fetch_request(None, session_id=3, session_epoch=1)
    assert in_full(request, context).topics == []
