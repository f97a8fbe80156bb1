"""Requests that are late, fail or lose their connection, by rule."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from trio_kafka.errors import ErrorCode
from trio_kafka.plugin import Context, api
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from trio_kafka.protocol.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from trio_kafka.protocol.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from trio_kafka.protocol.messages.k43_elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
)
from trio_kafka.protocol.messages.k43_elect_leaders import TopicPartitions as ElectTopicPartitions
from trio_kafka.testing.direct import NEWEST, ClosedError
from trio_kafka.testing.faults import Fault, FaultInterceptor, Faults
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse, WaitRequest, WaitResponse

ERROR = ErrorCode.NOT_LEADER_OR_FOLLOWER


@api(EchoRequest)
def echo(request: EchoRequest, context: Context) -> EchoResponse:
    return EchoResponse(text=request.text)


@api(WaitRequest)
def wait(request: WaitRequest, context: Context) -> WaitResponse:
    return WaitResponse()


async def codes(harness: PluginHarness, count: int, client_id: str | None = "harness") -> list[int]:
    return [
        (await harness.ask(EchoRequest(), client_id=client_id)).error_code for _ in range(count)
    ]


async def test_some_requests_of_an_api_and_of_a_client_fail(autojump_clock: MockClock) -> None:
    faults = Faults(
        [
            Fault(api=EchoRequest, client_id="slow-*", error=ErrorCode.REQUEST_TIMED_OUT),
            Fault(api=EchoRequest, error=ERROR, after=2, times=2),
        ]
    )
    async with PluginHarness(handlers=[echo, wait]) as harness:
        (one,) = faults.put_on(harness.interceptors)
        assert one.kind == "before"

        assert await codes(harness, 6) == [0, 0, ERROR, ERROR, 0, 0]
        assert await codes(harness, 2, "slow-1") == [7, 7]
        assert (await harness.ask(WaitRequest())).error_code == 0
        assert faults.done == [2, 2]


async def test_chance_is_the_seeds(autojump_clock: MockClock) -> None:
    async def run(seed: int) -> list[int]:
        async with PluginHarness(handlers=[echo]) as harness:
            Faults([Fault(error=ERROR, chance=0.5)], seed).put_on(harness.interceptors)
            return await codes(harness, 40)

    first = await run(1)
    assert first == await run(1)
    assert first != await run(2)
    assert 8 < first.count(ERROR) < 32


async def test_requests_are_late_and_hold_no_handler(autojump_clock: MockClock) -> None:
    faults = Faults([Fault(api=EchoRequest, delay_s=(1, 3))])
    async with PluginHarness(handlers=[echo]) as harness:
        (one,) = faults.put_on(harness.interceptors)
        assert one.kind == "around"
        clients = [harness.client() for _ in range(50)]
        began = trio.current_time()
        for client in clients:
            client.send(EchoRequest("late"))
        await trio.sleep(0.9)
        assert all(client.connection.request is not None for client in clients)
        for client in clients:
            assert (await client.receive(EchoRequest())).text == "late"
        assert 1 <= trio.current_time() - began <= 3.1


async def test_a_connection_is_closed(autojump_clock: MockClock) -> None:
    async with PluginHarness(handlers=[echo]) as harness:
        Faults([Fault(close=True)]).put_on(harness.interceptors)
        with pytest.raises(ClosedError, match="closed by a fault rule"):
            await harness.ask(EchoRequest())


async def test_a_topic_is_known_by_name_and_by_id(autojump_clock: MockClock) -> None:
    async with PluginHarness(broker=True) as harness:
        assert harness.served is not None
        bad = await harness.served.create_topic("bad-1")
        good = await harness.served.create_topic("good")
        Faults([Fault(topic="bad-*", error=ERROR)]).put_on(harness.interceptors)

        def produce(topic_id: bytes) -> ProduceRequest:
            data = TopicProduceData(topic_id=topic_id, partition_data=[PartitionProduceData(0)])
            return ProduceRequest(acks=1, topic_data=[data])

        def offsets(name: str) -> ListOffsetsRequest:
            return ListOffsetsRequest(
                topics=[ListOffsetsTopic(name, [ListOffsetsPartition(0, timestamp=-1)])]
            )

        refused = (await harness.ask(produce(bad))).responses[0].partition_responses[0]
        other = (await harness.ask(produce(good))).responses[0].partition_responses[0]
        assert refused.error_code == ERROR
        assert other.error_code != ERROR
        found = [
            (await harness.ask(offsets(name))).topics[0].partitions[0].error_code
            for name in ("bad-1", "good")
        ]
        assert found == [ERROR, 0]
        topics = [CreatableTopic("bad-2", 1, 1)]
        assert (await harness.ask(CreateTopicsRequest(topics))).topics[0].error_code == ERROR


async def test_every_third_has_the_fault(autojump_clock: MockClock) -> None:
    faults = Faults([Fault(error=ERROR, after=1, every=3, times=2)])
    async with PluginHarness(handlers=[echo]) as harness:
        faults.put_on(harness.interceptors)

        assert await codes(harness, 10) == [0, ERROR, 0, 0, ERROR, 0, 0, 0, 0, 0]


async def test_a_rule_has_its_time(autojump_clock: MockClock) -> None:
    async with PluginHarness(handlers=[echo]) as harness:
        Faults([Fault(error=ERROR, window_s=(1, 2))]).put_on(harness.interceptors)
        found = []
        for _ in range(3):
            found += await codes(harness, 1)
            await trio.sleep(1.01)
        assert found == [0, ERROR, 0]


async def test_rules_come_and_go(autojump_clock: MockClock) -> None:
    async with PluginHarness(handlers=[echo]) as harness:
        faults = Faults([Fault(api=WaitRequest), Fault(client_id="late", delay_s=(1, 1))])
        faults.put_on(harness.interceptors)
        assert await codes(harness, 1) == [0]
        rule = faults.add(Fault(error=ERROR))
        assert await codes(harness, 1) == [ERROR]
        faults.remove(rule)
        assert await codes(harness, 1) == [0]
        with pytest.raises(ValueError, match="not in list"):
            faults.remove(rule)


async def test_an_answer_says_that_it_is_throttled(autojump_clock: MockClock) -> None:
    async with PluginHarness(broker=True) as harness:
        Faults([Fault(throttle_s=1.5)]).put_on(harness.interceptors)
        answer = await harness.ask(CreateTopicsRequest([CreatableTopic("a", 1, 1)]))
        assert (answer.throttle_time_ms, answer.topics[0].error_code) == (1500, 0)


async def test_a_partition_is_known_of_its_topic(autojump_clock: MockClock) -> None:
    async with PluginHarness(broker=True) as harness:
        assert harness.served is not None
        one = await harness.served.create_topic("one", partitions=3)
        two = await harness.served.create_topic("two", partitions=3)
        Faults([Fault(topic="one", partition=2, error=ERROR)]).put_on(harness.interceptors)

        async def produced(*wanted: tuple[bytes, int]) -> list[int]:
            data = [
                TopicProduceData(topic_id=topic_id, partition_data=[PartitionProduceData(number)])
                for topic_id, number in wanted
            ]
            answer = await harness.ask(ProduceRequest(acks=1, topic_data=data))
            return [topic.partition_responses[0].error_code for topic in answer.responses]

        assert ERROR not in await produced((one, 1), (two, 2))
        assert await produced((one, 2), (two, 0)) == [ERROR, ERROR]
        # Topics and brokers are no partitions, whatever their numbers are.
        topics = [CreatableTopic("one", 2, 1)]
        assert (await harness.ask(CreateTopicsRequest(topics))).topics[0].error_code != ERROR


@api(OffsetFetchRequest)
def offset_fetch(request: OffsetFetchRequest, context: Context) -> OffsetFetchResponse:
    return OffsetFetchResponse()


@api(ElectLeadersRequest)
def elect_leaders(request: ElectLeadersRequest, context: Context) -> ElectLeadersResponse:
    return ElectLeadersResponse()


@api(CreateTopicsRequest)
def create_topics(request: CreateTopicsRequest, context: Context) -> CreateTopicsResponse:
    return CreateTopicsResponse()


async def fits(request: Any, version: int | None = NEWEST, **about: Any) -> bool:
    """Whether a request has the fault that is about something."""
    handlers = [wait, offset_fetch, elect_leaders, create_topics]
    async with PluginHarness(handlers=handlers) as harness:
        Faults([Fault(close=True, **about)]).put_on(harness.interceptors)
        try:
            await harness.ask(request, version)
        except ClosedError:
            return True
    return False


async def test_partitions_stand_in_lists_and_topics_below_groups(autojump_clock: MockClock) -> None:
    topic = OffsetFetchRequestTopics("o", partition_indexes=[4])
    offsets = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=[topic])])
    elect = ElectLeadersRequest(topic_partitions=[ElectTopicPartitions("e", [7])])

    assert await fits(offsets, 9, topic="o")
    assert await fits(offsets, 9, topic="o", partition=4)
    assert not await fits(offsets, 9, topic="o", partition=5)
    assert await fits(elect, partition=7)
    assert not await fits(elect, topic="o", partition=7)
    assert not await fits(WaitRequest(), partition=0)


async def test_settings_of_a_topic_are_no_topics(autojump_clock: MockClock) -> None:
    setting = CreatableTopicConfig("segment.ms", "1")
    request = CreateTopicsRequest([CreatableTopic("t", 1, 1, configs=[setting])])

    assert await fits(request, topic="t")
    assert not await fits(request, topic="segment*")


async def test_a_rule_may_have_a_seed_of_its_own(autojump_clock: MockClock) -> None:
    async def run(seed: int, own: str | None) -> list[int]:
        async with PluginHarness(handlers=[echo]) as harness:
            faults = Faults([Fault(error=ERROR, chance=0.5, seed=own)], seed)
            faults.put_on(harness.interceptors)
            return await codes(harness, 40)

    assert await run(1, "a") == await run(2, "a")
    assert await run(1, "a") != await run(1, "b")
    assert await run(1, None) != await run(2, None)


def test_rules_need_as_few_places_as_they_can() -> None:
    faults = Faults([])
    assert faults.interceptors() == []

    plain = faults.add(Fault(api=EchoRequest, error=ERROR))
    late = faults.add(Fault(api=WaitRequest, delay_s=(1, 1)))
    assert faults.interceptors() == [
        FaultInterceptor("before", EchoRequest, faults.before),
        FaultInterceptor("around", WaitRequest, faults.around),
    ]
    everything = faults.add(Fault(error=ERROR))
    assert faults.interceptors() == [FaultInterceptor("around", None, faults.around)]
    faults.remove(late)
    assert faults.interceptors() == [FaultInterceptor("before", None, faults.before)]
    faults.remove(everything)
    faults.remove(plain)
    assert faults.interceptors() == []
