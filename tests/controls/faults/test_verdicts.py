"""Effects of each verdict on the response and on the log, on a whole broker."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.apis.kit import (
    batch,
    codes,
    fetch,
    fetch_request,
    partitions_of,
    parts_of,
    produce,
    produce_request,
    values_of,
    write,
)
from trio_kafka.controls.faults import FaultRule, Faults
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.messages.k00_produce import ProduceRequest, ProduceResponse
from trio_kafka.protocol.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from trio_kafka.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from trio_kafka.protocol.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from trio_kafka.protocol.messages.k12_heartbeat import HeartbeatRequest
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest, ApiVersionsResponse
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.protocol.messages.k32_describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from trio_kafka.records.batch import iterate_headers
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.scripted_client import request_frame
from trio_kafka.testing.simulation import run_simulated, simulated_world
from trio_kafka.world.simulated import Universe

MOVED = ErrorCode.NOT_LEADER_OR_FOLLOWER
TIMED_OUT = ErrorCode.REQUEST_TIMED_OUT
BY_NAME = 12  # the last version of Produce and Fetch with topic names


@asynccontextmanager
async def faulty(*topics: str) -> AsyncIterator[tuple[ServedBroker, Faults]]:
    """A broker with topics of two partitions, and its faults."""
    async with served_broker(simulated_world()) as served:
        for topic in topics:
            await served.create_topic(topic, 2)
        yield served, Faults(served.broker)


async def values(served: ServedBroker, topic: str, partition: int = 0) -> list[bytes | None]:
    request = fetch_request(topic, 0, 0)
    partitions = partitions_of(await served.ask(request, BY_NAME))
    return next(values_of(row) for row in partitions if row.partition_index == partition)


async def test_produce_with_one_failing_partition_appends_only_to_the_others(
    autojump_clock: MockClock,
) -> None:
    async with faulty("t") as (served, faults):
        with faults.add(FaultRule(api="Produce", topic="t", partition=0, error=MOVED)) as fault:
            request = produce_request("t", (0, batch(b"lost")), (1, batch(b"kept")))
            answer = await served.ask(request, BY_NAME)

        rows = parts_of(answer)
        assert [(row.index, row.error_code) for row in rows] == [(0, MOVED), (1, 0)]
        assert (rows[0].base_offset, rows[1].base_offset) == (-1, 0)
        assert (fault.hits, fault.seen) == (1, 1)
        assert await values(served, "t", 0) == []
        assert await values(served, "t", 1) == [b"kept"]


async def test_rule_with_a_topic_name_fails_requests_with_the_topic_id(
    autojump_clock: MockClock,
) -> None:
    async with faulty() as (served, faults):
        bad, good = await served.create_topic("bad-1"), await served.create_topic("good")
        faults.add(FaultRule(topic="bad-*", error=MOVED))

        assert (await produce(served, bad, batch(b"a"))).error_code == MOVED
        assert (await produce(served, good, batch(b"a"))).error_code == 0


async def test_partition_error_is_answered_per_topic_for_topics_with_ids_only(
    autojump_clock: MockClock,
) -> None:
    async with faulty() as (served, faults):
        ids = [await served.create_topic(name, 2) for name in ("a", "b")]
        faults.add(FaultRule(api="Produce", partition=1, error=MOVED))
        requests = [
            produce_request(id_, (0, batch(b"x")), (1, batch(b"y"))).topic_data[0] for id_ in ids
        ]

        answer = await served.ask(ProduceRequest(acks=1, timeout_ms=1000, topic_data=requests))

        assert [
            (response.topic_id, codes(response.partition_responses))
            for response in answer.responses
        ] == [(id_, [0, MOVED]) for id_ in ids]


async def test_produce_that_a_rule_answers_with_a_timeout_is_appended(
    autojump_clock: MockClock,
) -> None:
    async with faulty("t") as (served, faults):
        with faults.add(FaultRule(api="Produce", topic="t", partition=1, error=TIMED_OUT)):
            request = produce_request("t", (0, batch(b"a")), (1, batch(b"b")))
            rows = parts_of(await served.ask(request, BY_NAME))

        assert codes(rows) == [0, TIMED_OUT]
        assert [await values(served, "t", n) for n in (0, 1)] == [[b"a"], [b"b"]]


async def test_rule_without_part_conditions_fails_all_partitions_of_a_request(
    autojump_clock: MockClock,
) -> None:
    async with faulty("t") as (served, faults):
        with faults.add(FaultRule(api="Produce", error=MOVED)):
            request = produce_request("t", (0, batch(b"a")), (1, batch(b"b")))
            assert codes(parts_of(await served.ask(request, BY_NAME))) == [MOVED, MOVED]
        with faults.add(FaultRule(api="Produce", error=TIMED_OUT)):
            assert (await produce(served, "t", batch(b"late"))).error_code == TIMED_OUT

        assert await values(served, "t") == [b"late"]


async def test_error_of_a_produce_with_acks_0_closes_the_connection_after_appending_the_rest(
    autojump_clock: MockClock,
) -> None:
    async with faulty("t") as (served, faults), served.connect() as other:
        faults.add(FaultRule(api="Produce", topic="t", partition=0, error=MOVED))
        request = produce_request("t", (0, batch(b"lost")), (1, batch(b"kept")), acks=0)

        await other.send(request_frame(request, BY_NAME))
        await other.wait_closed()

        assert await values(served, "t", 0) == []
        assert await values(served, "t", 1) == [b"kept"]


async def test_fetch_error_is_answered_at_once_for_its_partition_only(
    autojump_clock: MockClock,
) -> None:
    async with faulty("t") as (served, faults):
        faults.add(FaultRule(api="Fetch", topic="t", partition=0, error=MOVED))
        began = trio.current_time()

        request = fetch_request("t", 0, 0, max_wait_ms=5000)
        rows = partitions_of(await served.ask(request, BY_NAME))

        assert [(row.partition_index, row.error_code) for row in rows] == [(0, MOVED), (1, 0)]
        assert rows[0].high_watermark == -1
        assert trio.current_time() - began < 1, "an error is answered at once"


async def test_incremental_fetch_without_the_failing_partition_gets_its_error(
    autojump_clock: MockClock,
) -> None:
    async with faulty("t") as (served, faults):
        begun = await served.ask(fetch_request("t", 0, 0, session_epoch=0), BY_NAME)
        fault = faults.add(FaultRule(api="Fetch", topic="t", partition=1, error=MOVED, times=2))

        def poll(epoch: int) -> Any:
            return fetch_request(None, session_id=begun.session_id, session_epoch=epoch)

        failed = [await served.ask(poll(epoch), BY_NAME) for epoch in (1, 2)]
        await write(served, "t", b"a")
        read = await served.ask(poll(3), BY_NAME)

        for answer in failed:
            (row,) = partitions_of(answer)
            assert (row.partition_index, row.error_code) == (1, MOVED)
        assert [values_of(partition) for partition in partitions_of(read) if partition.records] == [
            [b"a"]
        ]
        assert fault.hits == 2


async def test_next_fetch_reads_the_records_that_an_error_replaced(
    autojump_clock: MockClock,
) -> None:
    async with faulty("t") as (served, faults):
        await write(served, "t", b"a")
        faults.add(FaultRule(api="Fetch", topic="t", error=MOVED, times=1))

        assert (await fetch(served, "t")).error_code == MOVED
        assert values_of(await fetch(served, "t")) == [b"a"]


@pytest.mark.parametrize(
    "verdict", [{"error": MOVED}, {"corrupt": "records"}, {"corrupt": "response"}]
)
async def test_segment_lease_is_released_for_records_that_a_rule_replaced(
    autojump_clock: MockClock, verdict: dict[str, Any]
) -> None:
    async with faulty("t") as (served, faults):
        await write(served, "t", b"a")
        faults.add(FaultRule(api="Fetch", topic="t", partition=0, **verdict))

        async with served.connect() as other:
            await other.send(request_frame(fetch_request("t", 0, 0), BY_NAME))
            await other.receive_frame()

        log = served.broker.replicas.partition("t", 0).log
        assert not log.segments.active.file.leased


async def test_fetch_session_error_is_answered_unchanged_by_a_rule(
    autojump_clock: MockClock,
) -> None:
    async with faulty("t") as (served, faults):
        faults.add(FaultRule(api="Fetch", topic="t", error=MOVED))

        answer = await served.ask(fetch_request("t", 0, session_id=7, session_epoch=1), BY_NAME)

        assert answer.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        assert answer.responses == []


async def test_metadata_response_has_the_error_only_for_the_failing_topic_or_partition(
    autojump_clock: MockClock,
) -> None:
    unavailable = ErrorCode.LEADER_NOT_AVAILABLE
    async with faulty("good", "bad") as (served, faults):
        with faults.add(FaultRule(api="Metadata", topic="bad", error=unavailable)):
            by_topic = await served.ask(MetadataRequest(topics=None))
        with faults.add(FaultRule(api="Metadata", topic="bad", partition=1, error=unavailable)):
            named = [MetadataRequestTopic(name=name) for name in ("bad", "good")]
            by_partition = await served.ask(MetadataRequest(topics=named))

        assert {topic.name: topic.error_code for topic in by_topic.topics} == {
            "good": 0,
            "bad": unavailable,
        }
        assert len(by_topic.brokers) == 1
        bad, good = sorted(by_partition.topics, key=lambda topic: topic.name)
        assert (bad.error_code, codes(bad.partitions)) == (0, [0, unavailable])
        assert codes(good.partitions) == [0, 0]
        assert bad.partitions[1].leader_id == -1


async def test_list_offsets_answers_the_partitions_that_do_not_fail(
    autojump_clock: MockClock,
) -> None:
    async with faulty("t") as (served, faults):
        await write(served, "t", b"a")
        faults.add(FaultRule(topic="t", partition=0, error=MOVED))

        partitions = [ListOffsetsPartition(number, timestamp=-1) for number in (0, 1)]
        offsets = await served.ask(ListOffsetsRequest(topics=[ListOffsetsTopic("t", partitions)]))

        (topic,) = offsets.topics
        assert [
            (partition.partition_index, partition.error_code, partition.offset)
            for partition in topic.partitions
        ] == [
            (0, MOVED, -1),
            (1, 0, 0),
        ]


async def test_create_topics_creates_all_topics_except_the_failing_topic(
    autojump_clock: MockClock,
) -> None:
    async with faulty() as (served, faults):
        faults.add(FaultRule(api="CreateTopics", topic="bad", error=ErrorCode.POLICY_VIOLATION))
        expected = [CreatableTopic(name, 1, 1) for name in ("one", "bad", "two")]

        answer = await served.ask(CreateTopicsRequest(expected, timeout_ms=1000))

        assert [(topic.name, topic.error_code) for topic in answer.topics] == [
            ("one", 0),
            ("bad", ErrorCode.POLICY_VIOLATION),
            ("two", 0),
        ]
        assert set(served.broker.metadata.image.topics) >= {"one", "two"}
        assert "bad" not in served.broker.metadata.image.topics


async def test_rule_with_a_group_fails_only_this_group_of_an_offset_fetch(
    autojump_clock: MockClock,
) -> None:
    error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    async with faulty("t") as (served, faults):
        await served.serve_groups("a", "b")
        topics = [OffsetFetchRequestTopics("t", partition_indexes=[0, 1])]
        groups = [OffsetFetchRequestGroup(name, topics=topics) for name in ("a", "b")]
        request = OffsetFetchRequest(groups=groups)
        with faults.add(FaultRule(group="a", error=error)):
            by_group = await served.ask(request, 9)
        with faults.add(FaultRule(group="b", topic="t", partition=1, error=error)):
            by_partition = await served.ask(request, 9)
        with faults.add(FaultRule(group="a", error=error)):
            beat = await served.ask(HeartbeatRequest("a", 1, "m"))

        assert [(group.group_id, group.error_code) for group in by_group.groups] == [
            ("a", error),
            ("b", 0),
        ]
        first, second = by_partition.groups
        assert codes(first.topics[0].partitions) == [0, 0]
        assert (second.error_code, codes(second.topics[0].partitions)) == (0, [0, error])
        assert beat.error_code == error


async def test_offset_commit_with_one_failing_partition_commits_the_other(
    autojump_clock: MockClock,
) -> None:
    async with faulty("t") as (served, faults):
        await served.serve_groups("g")
        error = ErrorCode.OFFSET_METADATA_TOO_LARGE
        faults.add(FaultRule(api="OffsetCommit", partition=0, error=error))
        rows = [OffsetCommitRequestPartition(n, 5, committed_metadata="") for n in (0, 1)]
        commit = OffsetCommitRequest("g", topics=[OffsetCommitRequestTopic("t", partitions=rows)])

        answer = await served.ask(commit, 9)
        topics = [OffsetFetchRequestTopics("t", partition_indexes=[0, 1])]
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=topics)])
        (group,) = (await served.ask(request, 9)).groups

        assert codes(answer.topics[0].partitions) == [error, 0]
        assert [partition.committed_offset for partition in group.topics[0].partitions] == [-1, 5]


async def test_describe_configs_fails_only_for_the_topic_of_the_rule(
    autojump_clock: MockClock,
) -> None:
    async with faulty("a", "b") as (served, faults):
        faults.add(FaultRule(topic="a", error=ErrorCode.TOPIC_AUTHORIZATION_FAILED))
        describe_configs_resources = [
            DescribeConfigsResource(2, name, configuration_keys=[]) for name in ("a", "b")
        ]

        answer = await served.ask(DescribeConfigsRequest(describe_configs_resources))

        assert [(result.resource_name, result.error_code) for result in answer.results] == [
            ("a", ErrorCode.TOPIC_AUTHORIZATION_FAILED),
            ("b", 0),
        ]


async def test_response_given_by_a_rule_is_sent(autojump_clock: MockClock) -> None:
    response = ApiVersionsResponse(error_code=int(ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    async with faulty() as (served, faults):
        faults.add(FaultRule(api="ApiVersions", respond=response, times=1))
        faults.add(
            FaultRule(
                api="ApiVersions",
                respond=lambda request, context: ApiVersionsResponse(throttle_time_ms=7),
                times=1,
            )
        )
        request = ApiVersionsRequest("c", "1")

        answers = [await served.ask(request, 3) for _ in range(3)]

        assert answers[0] == response
        assert answers[1].throttle_time_ms == 7
        assert answers[2].api_keys


async def test_a_dropped_request_is_neither_served_nor_answered(
    autojump_clock: MockClock,
) -> None:
    async with faulty("t") as (served, faults):
        faults.add(FaultRule(api="Produce", drop=True, times=1))
        dropped = request_frame(produce_request("t", (0, batch(b"lost"))), BY_NAME, correlation=1)
        kept = request_frame(produce_request("t", (0, batch(b"kept"))), BY_NAME, correlation=2)

        await served.client.send(dropped + kept)
        correlation, _ = await served.client.receive_answer(ProduceResponse, BY_NAME)

        assert correlation == 2
        assert await values(served, "t") == [b"kept"]


@pytest.mark.parametrize(("when", "expected"), [("before", []), ("after", [b"a"])])
async def test_disconnect_rule_closes_the_connection_before_or_after_the_append(
    autojump_clock: MockClock, when: Any, expected: list[bytes]
) -> None:
    async with faulty("t") as (served, faults), served.connect() as other:
        faults.add(FaultRule(api="Produce", disconnect=when))

        with pytest.raises((EOFError, ConnectionError)):
            await produce(other, "t", batch(b"a"))

        assert await values(served, "t") == expected


async def test_delayed_request_delays_later_requests_of_its_connection_only(
    autojump_clock: MockClock,
) -> None:
    async with faulty("t") as (served, faults), served.connect() as other:
        fault = faults.add(FaultRule(api="Produce", delay_s=5, times=1))
        first = request_frame(produce_request("t", (0, batch(b"a"))), BY_NAME, correlation=1)
        second = request_frame(produce_request("t", (0, batch(b"b"))), BY_NAME, correlation=2)
        began = trio.current_time()

        await served.client.send(first + second)
        await fault.wait()
        await write(other, "t", b"c")
        assert trio.current_time() - began < 1
        result = [await served.client.receive_answer(ProduceResponse, BY_NAME) for _ in range(2)]

        assert [correlation for correlation, _ in result] == [1, 2]
        assert trio.current_time() - began >= 5
        assert await values(served, "t") == [b"c", b"a", b"b"]


async def test_error_of_a_rule_with_a_delay_is_answered_after_the_delay(
    autojump_clock: MockClock,
) -> None:
    async with faulty("t") as (served, faults):
        faults.add(FaultRule(api="Produce", delay_s=(2, 3), error=MOVED))
        began = trio.current_time()

        assert (await produce(served, "t", batch(b"a"))).error_code == MOVED
        assert 2 <= trio.current_time() - began <= 3.1


async def test_a_held_request_is_served_when_it_is_released(autojump_clock: MockClock) -> None:
    async with faulty("t") as (served, faults), served.connect() as other:
        fault = faults.add(FaultRule(api="Produce", client_id="scripted", hold=True))
        frames = [
            request_frame(produce_request("t", (0, batch(value))), BY_NAME, correlation=n)
            for n, value in enumerate((b"a", b"b"), 1)
        ]
        await other.send(frames[0] + frames[1])
        await fault.wait()
        await wait_all_tasks_blocked()
        assert (fault.held, fault.hits) == (1, 1)
        assert await values(served, "t") == []

        fault.release()
        result = [await other.receive_answer(ProduceResponse, BY_NAME) for _ in range(2)]

        assert [correlation for correlation, _ in result] == [1, 2]
        assert (fault.held, fault.hits) == (0, 1)
        assert await values(served, "t") == [b"a", b"b"]


async def test_a_held_request_ends_with_its_connection(autojump_clock: MockClock) -> None:
    async with faulty("t") as (served, faults):
        fault = faults.add(FaultRule(api="Produce", hold=True))
        async with served.connect() as other:
            await other.send(request_frame(produce_request("t", (0, batch(b"a"))), BY_NAME))
            await fault.wait()
        await trio.sleep(1)

        assert fault.held == 0
        fault.remove()
        assert await values(served, "t") == []


async def test_throttle_rule_sets_the_throttle_time_of_the_response(
    autojump_clock: MockClock,
) -> None:
    async with faulty("t") as (served, faults):
        faults.add(FaultRule(throttle_s=1.5))

        answer = await served.ask(produce_request("t", (0, batch(b"a"))), BY_NAME)

        assert (answer.throttle_time_ms, codes(parts_of(answer))) == (1500, [0])


async def test_throttle_rule_keeps_a_longer_throttle_time(autojump_clock: MockClock) -> None:
    response = ApiVersionsResponse(throttle_time_ms=9000)
    async with faulty() as (served, faults):
        inner = Faults(served.broker, order=1)
        inner.add(FaultRule(api="ApiVersions", respond=response))
        faults.add(FaultRule(throttle_s=1))

        assert (await served.ask(ApiVersionsRequest("c", "1"), 3)).throttle_time_ms == 9000


async def test_damaged_records_are_rejected_and_not_appended(autojump_clock: MockClock) -> None:
    async with faulty("t") as (served, faults):
        faults.add(FaultRule(api="Produce", corrupt="request", times=1))

        assert (await produce(served, "t", batch(b"a"))).error_code == ErrorCode.CORRUPT_MESSAGE
        assert (await produce(served, "t", batch(b"b"))).error_code == 0
        assert await values(served, "t") == [b"b"]


async def test_corrupt_rule_damages_fetched_records_and_leaves_the_log_intact(
    autojump_clock: MockClock,
) -> None:
    async with faulty("t") as (served, faults):
        await write(served, "t", b"a")
        await write(served, "t", b"b")
        faults.add(FaultRule(api="Fetch", corrupt="records", times=1))

        async def intact() -> list[bool]:
            data = memoryview(bytes((await fetch(served, "t")).records or b""))
            return [
                header.crc == crc32c(data[at + 21 : at + header.size])
                for at, header in iterate_headers(data)
            ]

        assert await intact() == [False, False]
        assert await intact() == [True, True]


async def test_damaged_response_fails_to_decode(autojump_clock: MockClock) -> None:
    async with faulty("t") as (served, faults):
        await write(served, "t", b"a")
        faults.add(FaultRule(api="Fetch", corrupt="response", times=1))

        with pytest.raises(DecodeError):
            await fetch(served, "t")
        assert values_of(await fetch(served, "t")) == [b"a"]


async def test_observing_rule_counts_requests_and_changes_no_response(
    autojump_clock: MockClock,
) -> None:
    async with faulty("t") as (served, faults):
        watch = faults.add(FaultRule(api="Produce", topic="t", observe=True))
        fail = faults.add(FaultRule(api="Produce", error=MOVED, times=1))

        result = [(await produce(served, "t", batch(b"a"))).error_code for _ in range(2)]

        assert result == [MOVED, 0]
        assert (watch.hits, fail.hits) == (2, 1)


# --- any rules, any requests

rules = st.builds(
    dict,
    topic=st.sampled_from([None, "a", "b", "*"]),
    partition=st.sampled_from([None, 0, 1]),
    error=st.sampled_from([MOVED, TIMED_OUT]),
    after=st.integers(0, 2),
    every=st.integers(1, 2),
    times=st.sampled_from([None, 1, 2]),
)
sent = st.sets(st.tuples(st.sampled_from("ab"), st.integers(0, 1)), min_size=1)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(given_rules=st.lists(rules, max_size=3), requests=st.lists(sent, min_size=1, max_size=5))
def test_log_holds_exactly_the_batches_answered_without_error_or_with_a_timeout(
    given_rules: list[dict[str, Any]], requests: list[set[tuple[str, int]]]
) -> None:
    async def main(universe: Universe) -> None:
        async with served_broker(universe.machine("broker")) as served:
            for topic in "ab":
                await served.create_topic(topic, 2)
            faults = Faults(served.broker)
            faults.add_all(FaultRule(api="Produce", **rule) for rule in given_rules)
            kept: dict[tuple[str, int], list[bytes]] = {}
            for number, parts in enumerate(requests):
                value = b"%d" % number
                data = [
                    produce_request(
                        topic, *((n, batch(value)) for name, n in sorted(parts) if name == topic)
                    )
                    for topic in sorted({topic for topic, _ in parts})
                ]
                request = data[0]
                for more in data[1:]:
                    request.topic_data += more.topic_data

                answer = await served.ask(request, BY_NAME)

                answered = {
                    (topic.name, response.index): response.error_code
                    for topic in answer.responses
                    for response in topic.partition_responses
                }
                assert answered.keys() == parts
                for at, code in answered.items():
                    if code != MOVED:
                        kept.setdefault(at, []).append(value)
            for topic in "ab":
                for n in (0, 1):
                    assert await values(served, topic, n) == kept.get((topic, n), [])

    run_simulated(main)
