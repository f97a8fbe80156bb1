"""Requests that are late, fail or lose their connection, by rule."""

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
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.testing.direct import ClosedError
from trio_kafka.testing.faults import Fault, Faults
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
        with pytest.raises(ClosedError, match="a fault"):
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
