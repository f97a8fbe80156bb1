import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.records.kit import encode_batch
from tests.trio_kafka_spark.client.scripted import (
    CLOSE,
    TOPIC_ID,
    Scripted,
    fetch_answer,
    offsets_answer,
    scripted,
)
from tests.trio_kafka_spark.client.test_cluster import TP, quick
from trio_kafka.model import ZERO_TOPIC_ID, Endpoint, TopicPartition
from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.messages.k01_fetch import AbortedTransaction, FetchRequest, FetchResponse
from trio_kafka.protocol.messages.k02_list_offsets import ListOffsetsRequest, ListOffsetsResponse
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.protocol.messages.k49_alter_client_quotas import (
    AlterClientQuotasRequest,
    EntryData,
    OpData,
)
from trio_kafka.protocol.structs.cluster import EntityData
from trio_kafka.records.batch import Record, read_records
from trio_kafka.records.header import iterate_headers
from trio_kafka.testing.processes import BrokerProcess, broker_process
from trio_kafka.wire.server import small_answer
from trio_kafka_spark.client.cluster import Cluster
from trio_kafka_spark.client.errors import (
    OffsetOutOfRangeError,
    SourceError,
    UnknownTopicError,
)
from trio_kafka_spark.client.fetch import Fetched, fetch

STOP = 100


def batch(first: int, count: int = 10, **more: Any) -> bytes:
    return encode_batch(
        [Record(value=b"v%d" % n) for n in range(first, first + count)], first, **more
    )


def log(request: FetchRequest, *, stop: int = STOP, per_answer: int = 20) -> FetchResponse:
    """Batches of ten records up to `stop`, from the one that has the offset asked for."""
    [topic] = request.topics
    [partition] = topic.partitions
    first = partition.fetch_offset // 10 * 10
    end = min(first + per_answer, stop)
    return fetch_answer(
        b"".join(batch(n) for n in range(first, end, 10)),
        high_watermark=stop,
        last_stable_offset=stop,
    )


def values(
    chunks: Iterator[Fetched] | list[Fetched], start: int = 0, stop: int = STOP
) -> list[str]:
    """Values of the records within a range."""
    return [
        (record.value or b"").decode()
        for chunk in chunks
        for at, header in iterate_headers(chunk.buffer)
        for record in read_records(chunk.buffer, at, header)
        if start <= record.offset < stop
    ]


def expected(start: int = 0, stop: int = STOP) -> list[str]:
    return [f"v{n}" for n in range(start, stop)]


def seeded(bootstrap: str, topic: str, count: int, **more: Any) -> TopicPartition:
    """A topic of one partition with records of 1000 bytes."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()
    producer = Producer(
        {"bootstrap.servers": bootstrap, "linger.ms": 5, "batch.size": 16384, **more}
    )
    for n in range(count):
        producer.produce(topic, b"v%d" % n + bytes(1000))
    producer.flush()
    return TopicPartition(topic, 0)


def stripped(texts: list[str]) -> list[str]:
    return [text.rstrip("\0") for text in texts]


@pytest.mark.slow
@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_a_whole_partition_of_the_broker_is_read_with_each_codec(
    shared_broker: BrokerProcess, codec: str
) -> None:
    tp = seeded(shared_broker.bootstrap, f"fetch-{codec}", 5000, **{"compression.type": codec})

    result = list(fetch(quick(Endpoint(*shared_broker.address)), tp, start=0, stop=5000))

    assert stripped(values(result, 0, 5000)) == expected(0, 5000)
    assert (result[-1].next_offset, result[-1].high_watermark, result[-1].log_start) == (
        5000,
        5000,
        0,
    )


def test_a_range_that_starts_and_ends_inside_batches_is_read(
    shared_broker: BrokerProcess,
) -> None:
    tp = seeded(shared_broker.bootstrap, "fetch-range", 1000)
    small = quick(Endpoint(*shared_broker.address), fetch_bytes=50_000)

    result = list(fetch(small, tp, start=123, stop=789))

    assert stripped(values(result, 123, 789)) == expected(123, 789)
    assert len(result) > 5
    assert result[-1].next_offset < 850
    assert list(fetch(small, tp, start=5, stop=5)) == []


def test_a_batch_larger_than_the_fetch_size_is_read(shared_broker: BrokerProcess) -> None:
    tp = seeded(shared_broker.bootstrap, "fetch-large", 300)

    result = list(
        fetch(quick(Endpoint(*shared_broker.address), fetch_bytes=1), tp, start=0, stop=300)
    )

    assert stripped(values(result, 0, 300)) == expected(0, 300)


@pytest.mark.slow
def test_a_read_continues_after_the_broker_is_killed_and_restarted(tmp_path: Path) -> None:
    with broker_process(tmp_path) as broker:
        tp = seeded(broker.bootstrap, "fetch-killed", 500)
        small = quick(Endpoint(*broker.address), fetch_bytes=50_000, api_timeout_ms=30_000)
        reading = fetch(small, tp, start=0, stop=500)
        result = [next(reading)]
        os.kill(broker.process.pid, signal.SIGKILL)
        broker.process.wait()
        with broker_process(tmp_path, port=broker.address[1]):
            result += reading

    assert stripped(values(result, 0, 500)) == expected(0, 500)


@pytest.mark.slow
def test_a_read_fails_with_the_broker_s_address_if_the_broker_stays_down(tmp_path: Path) -> None:
    with broker_process(tmp_path) as broker:
        tp = seeded(broker.bootstrap, "fetch-gone", 500)
        endpoint = Endpoint(*broker.address)
        reading = fetch(
            quick(endpoint, fetch_bytes=50_000, api_timeout_ms=50), tp, start=0, stop=500
        )
        next(reading)
        os.kill(broker.process.pid, signal.SIGKILL)
        broker.process.wait()

        with pytest.raises(SourceError, match=rf"KAFKA_UNAVAILABLE\] .*fetch-gone-0.*{endpoint}"):
            list(reading)


@pytest.mark.slow
def test_a_topic_deleted_during_a_read_is_an_error(shared_broker: BrokerProcess) -> None:
    tp = seeded(shared_broker.bootstrap, "fetch-deleted", 2000)
    small = quick(Endpoint(*shared_broker.address), fetch_bytes=20_000)
    reading = fetch(small, tp, start=0, stop=2000)
    next(reading)
    admin = AdminClient({"bootstrap.servers": shared_broker.bootstrap})
    admin.delete_topics(["fetch-deleted"])["fetch-deleted"].result()

    with pytest.raises(UnknownTopicError, match="fetch-deleted"):
        list(reading)


@pytest.mark.slow
def test_a_topic_deleted_and_recreated_during_a_read_is_an_error(
    shared_broker: BrokerProcess,
) -> None:
    tp = seeded(shared_broker.bootstrap, "fetch-again", 2000)
    small = quick(Endpoint(*shared_broker.address), fetch_bytes=20_000)
    reading = fetch(small, tp, start=0, stop=2000)
    next(reading)
    admin = AdminClient({"bootstrap.servers": shared_broker.bootstrap})
    admin.delete_topics(["fetch-again"])["fetch-again"].result()
    seeded(shared_broker.bootstrap, "fetch-again", 2000)

    with pytest.raises(UnknownTopicError, match="deleted and created again"):
        list(reading)


def test_an_offset_after_the_end_of_the_log_is_out_of_range(
    shared_broker: BrokerProcess,
) -> None:
    tp = seeded(shared_broker.bootstrap, "fetch-range-end", 3)

    with pytest.raises(OffsetOutOfRangeError) as caught:
        list(fetch(quick(Endpoint(*shared_broker.address)), tp, start=10, stop=20))

    assert (caught.value.offset, caught.value.log_start, caught.value.high_watermark) == (10, 0, 3)


def test_a_read_up_to_an_offset_after_the_end_waits_for_new_records(
    shared_broker: BrokerProcess,
) -> None:
    tp = seeded(shared_broker.bootstrap, "fetch-wait", 3)
    reading = fetch(
        quick(Endpoint(*shared_broker.address), fetch_max_wait_ms=10_000), tp, start=0, stop=4
    )
    first = next(reading)
    producer = Producer({"bootstrap.servers": shared_broker.bootstrap})
    producer.produce("fetch-wait", b"late")
    producer.flush()

    assert values([first, *reading], 3, 4) == ["late"]


def test_the_next_fetch_is_sent_before_the_previous_records_are_returned() -> None:
    second = threading.Event()

    def answer(request: FetchRequest) -> FetchResponse:
        if request.topics[0].partitions[0].fetch_offset:
            second.set()
        return log(request)

    with scripted({FetchRequest: answer}) as broker:
        reading = fetch(quick(broker.endpoint), TP, start=0, stop=STOP)
        next(reading)

        assert second.wait(10)
        reading.close()


def test_a_read_sends_no_fetch_beyond_its_end_and_uses_a_single_connection() -> None:
    with scripted({FetchRequest: log}) as broker:
        assert values(fetch(quick(broker.endpoint), TP, start=0, stop=STOP)) == expected()

        assert len(broker.requests(FetchRequest)) == 5
        assert broker.connections == 1


def test_fetch_sizes_follow_the_remaining_bytes_and_the_configured_limit() -> None:
    large = {"per_answer": 10}
    with scripted({FetchRequest: lambda request: log(request, **large)}) as broker:
        list(fetch(quick(broker.endpoint, fetch_bytes=2 << 20), TP, start=0, stop=STOP))
        sizes = [
            request.topics[0].partitions[0].partition_max_bytes
            for request in broker.requests(FetchRequest)
        ]
    with scripted({FetchRequest: log}) as broker:
        list(fetch(quick(broker.endpoint, fetch_bytes=1000), TP, start=0, stop=STOP))
        limited = {request.max_bytes for request in broker.requests(FetchRequest)}

    assert sizes[0] == 1 << 20
    assert 64 << 10 < sizes[-1] < sizes[1] < 80 << 10
    assert limited == {1000}


def test_closing_a_read_early_leaves_no_pending_response() -> None:
    with scripted({FetchRequest: log}) as broker, Cluster(quick(broker.endpoint)) as cluster:
        reading = fetch(cluster.settings, TP, start=0, stop=STOP, cluster=cluster)
        next(reading)
        [busy] = cluster._connections.values()
        assert busy.waiting == 1

        reading.close()

        assert cluster.leader(TP).waiting == 0
        assert broker.connections == 2


def test_a_cluster_passed_to_a_read_is_not_closed() -> None:
    with scripted({FetchRequest: log}) as broker, Cluster(quick(broker.endpoint)) as cluster:
        for _ in range(2):
            list(fetch(cluster.settings, TP, start=0, stop=STOP, cluster=cluster))

        assert (broker.connections, len(broker.requests(MetadataRequest))) == (1, 1)


@pytest.mark.parametrize(
    ("served", "topic_id", "version"),
    [(18, TOPIC_ID, 18), (12, TOPIC_ID, 12), (18, ZERO_TOPIC_ID, 12), (4, ZERO_TOPIC_ID, 4)],
)
def test_a_fetch_names_the_topic_by_id_if_client_and_broker_support_ids(
    served: int, topic_id: bytes, version: int
) -> None:
    at_most = {FetchRequest: served}
    with scripted({FetchRequest: log}, at_most=at_most, topic_id=topic_id) as broker:
        list(fetch(quick(broker.endpoint), TP, start=0, stop=STOP))
        [topic] = broker.requests(FetchRequest)[0].topics

        assert broker.versions(FetchRequest)[0] == version
        named = (topic.topic, topic.topic_id)
        assert named == (("", TOPIC_ID) if version > 12 else ("t", ZERO_TOPIC_ID))


def test_a_fetch_request_has_the_configured_isolation_level_bytes_and_wait() -> None:
    chosen = {"read_committed": True, "fetch_min_bytes": 7, "fetch_max_wait_ms": 9}
    with scripted({FetchRequest: log}) as broker:
        list(fetch(quick(broker.endpoint, **chosen), TP, start=0, stop=STOP))
        first = broker.requests(FetchRequest)[0]

    assert (first.isolation_level, first.min_bytes, first.max_wait_ms) == (1, 7, 9)
    assert first.topics[0].partitions[0].current_leader_epoch == 3


def test_a_fetch_request_has_the_newer_leader_epoch_of_the_caller() -> None:
    with scripted({FetchRequest: log}) as broker:
        list(fetch(quick(broker.endpoint), TP, start=0, stop=STOP, epoch=5))

        assert broker.requests(FetchRequest)[0].topics[0].partitions[0].current_leader_epoch == 5


@pytest.mark.parametrize("code", [3, 5, 6, 9, 56, 74, 75, 78, 100, 103, -1, 2])
def test_a_read_continues_with_new_metadata_after_a_retriable_error(code: int) -> None:
    failures = [code]

    def answer(request: FetchRequest) -> FetchResponse:
        if request.topics[0].partitions[0].fetch_offset and failures:
            return fetch_answer(error=failures.pop())
        return log(request)

    with scripted({FetchRequest: answer}) as broker:
        assert values(fetch(quick(broker.endpoint), TP, start=0, stop=STOP)) == expected()
        assert len(broker.requests(MetadataRequest)) == 2


@pytest.mark.parametrize(
    ("code", "condition"),
    [
        (29, "AUTHORIZATION_FAILED"),
        (35, "UNSUPPORTED_VERSION"),
        (42, "REQUEST_REJECTED"),
        (999, "REQUEST_REJECTED"),
    ],
)
def test_a_fatal_error_of_a_fetch_is_raised_without_retry(code: int, condition: str) -> None:
    with (
        scripted({FetchRequest: lambda _: fetch_answer(error=code)}) as broker,
        pytest.raises(
            SourceError,
            match=rf"KAFKA_{condition}\] Fetch of t-0, offset 7 at broker {broker.endpoint}",
        ),
    ):
        list(fetch(quick(broker.endpoint), TP, start=7, stop=STOP))


@pytest.mark.parametrize(
    ("code", "error", "attempts"),
    [(100, UnknownTopicError, 5), (3, UnknownTopicError, 5), (2, SourceError, 3)],
)
def test_a_lasting_error_of_a_fetch_is_raised_after_the_allowed_attempts(
    code: int, error: type[Exception], attempts: int
) -> None:
    with scripted({FetchRequest: lambda _: fetch_answer(error=code)}) as broker:
        with pytest.raises(error, match="t-0"):
            list(fetch(quick(broker.endpoint), TP, start=0, stop=STOP))
        assert len(broker.requests(FetchRequest)) == attempts


def test_a_read_without_a_leader_fails_at_the_deadline() -> None:
    with (
        scripted({FetchRequest: lambda _: fetch_answer(error=6)}) as broker,
        pytest.raises(SourceError, match=r"Fetch of t-0: gave up .*NOT_LEADER_OR_FOLLOWER from"),
    ):
        list(fetch(quick(broker.endpoint, api_timeout_ms=20), TP, start=0, stop=STOP))


def test_a_read_follows_the_leader_to_another_broker() -> None:
    moved = threading.Event()

    def old(request: FetchRequest) -> FetchResponse:
        if request.topics[0].partitions[0].fetch_offset >= 40:
            moved.set()
            return fetch_answer(error=6)
        return log(request)

    with scripted({FetchRequest: old}) as first, scripted({FetchRequest: log}) as second:
        first.handlers[MetadataRequest] = lambda _: (
            second.metadata() if moved.is_set() else first.metadata()
        )
        assert values(fetch(quick(first.endpoint), TP, start=0, stop=STOP)) == expected()
        assert second.requests(FetchRequest)[0].topics[0].partitions[0].fetch_offset == 40


@pytest.mark.parametrize("answer", [CLOSE, b"\0\0"])
def test_a_read_continues_on_a_new_connection_after_a_lost_connection(answer: Any) -> None:
    failures = [answer]

    def handler(request: FetchRequest) -> Any:
        if request.topics[0].partitions[0].fetch_offset and failures:
            broker.handlers[FetchRequest] = log
            return failures.pop()
        return log(request)

    with scripted({FetchRequest: handler}) as broker:
        settings = quick(broker.endpoint, request_timeout_ms=100)
        assert values(fetch(settings, TP, start=0, stop=STOP)) == expected()
        assert broker.connections == 2


@pytest.mark.parametrize("answer", [CLOSE, fetch_answer()])
def test_a_read_continues_after_its_caller_was_away_longer_than_all_timeouts(
    monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    failures, monotonic = [answer], time.monotonic

    def handler(request: FetchRequest) -> Any:
        is_failing = request.topics[0].partitions[0].fetch_offset and failures
        return failures.pop() if is_failing else log(request)

    with scripted({FetchRequest: handler}) as broker, Cluster(quick(broker.endpoint)) as cluster:
        chunks = fetch(cluster.settings, TP, start=0, stop=STOP, cluster=cluster)
        first = next(chunks)
        assert cluster.leader(TP).is_ready(10.0)
        monkeypatch.setattr(time, "monotonic", lambda: monotonic() + 500.0)

        assert values([first, *chunks]) == expected()


def test_an_out_of_range_fetch_names_the_valid_offsets() -> None:
    with (
        scripted(
            {
                FetchRequest: lambda _: fetch_answer(error=1),
                ListOffsetsRequest: lambda request: offsets_answer(request, first=50, last=80),
            }
        ) as broker,
        pytest.raises(OffsetOutOfRangeError, match=r"offset 7 of t-0 .* offsets 50 to 80"),
    ):
        list(fetch(quick(broker.endpoint), TP, start=7, stop=STOP))


def test_an_out_of_range_fetch_is_repeated_if_the_offset_is_in_range() -> None:
    failures = [1]

    def answer(request: FetchRequest) -> FetchResponse:
        return fetch_answer(error=failures.pop()) if failures else log(request)

    with scripted({FetchRequest: answer}) as broker:
        assert values(fetch(quick(broker.endpoint), TP, start=0, stop=STOP)) == expected()


def test_a_read_skips_offsets_removed_by_compaction() -> None:
    def compacted(request: FetchRequest) -> FetchResponse:
        if request.topics[0].partitions[0].fetch_offset < 15:
            return fetch_answer(batch(10, 5))
        return fetch_answer(batch(120, 3), high_watermark=123, last_stable_offset=123)

    with scripted({FetchRequest: compacted}) as broker:
        first, second = fetch(quick(broker.endpoint), TP, start=0, stop=STOP)

    assert (first.next_offset, second.next_offset, len(second.buffer)) == (15, STOP, 0)


def test_an_empty_fetch_below_the_end_ends_the_read_if_the_log_is_local() -> None:
    def compacted(request: FetchRequest) -> FetchResponse:
        at = request.topics[0].partitions[0].fetch_offset
        return fetch_answer(batch(0, 50) if at < 50 else b"")

    with scripted({FetchRequest: compacted}) as broker:
        first, second = fetch(quick(broker.endpoint), TP, start=0, stop=STOP)
        timestamps = [
            request.topics[0].partitions[0].timestamp
            for request in broker.requests(ListOffsetsRequest)
        ]

    assert (first.next_offset, second.next_offset, len(second.buffer)) == (50, STOP, 0)
    assert timestamps == [-4]


def test_a_single_empty_fetch_response_is_not_taken_for_a_compacted_end() -> None:
    answers = [fetch_answer()]

    with scripted() as broker:
        broker.handlers[FetchRequest] = lambda request: answers.pop() if answers else log(request)
        assert values(fetch(quick(broker.endpoint), TP, start=0, stop=STOP)) == expected()
        assert not broker.requests(ListOffsetsRequest)


def test_empty_fetches_end_the_read_if_the_broker_does_not_support_remote_storage() -> None:
    def unknown(request: ListOffsetsRequest) -> ListOffsetsResponse:
        answer = offsets_answer(request)
        answer.topics[0].partitions[0].error_code = 35
        return answer

    handlers = {FetchRequest: lambda _: fetch_answer(), ListOffsetsRequest: unknown}
    with scripted(handlers) as broker:
        [result] = fetch(quick(broker.endpoint), TP, start=0, stop=STOP)

    assert result.next_offset == STOP


def test_empty_fetches_of_remote_storage_fail_after_the_poll_timeout() -> None:
    handlers = {
        FetchRequest: lambda _: fetch_answer(),
        ListOffsetsRequest: lambda request: offsets_answer(request, first=90),
    }
    with (
        scripted(handlers) as broker,
        pytest.raises(SourceError, match=r"READ_TIMED_OUT\] no record of t-0 came for offset 7"),
    ):
        list(fetch(quick(broker.endpoint, poll_timeout_ms=20), TP, start=7, stop=STOP))


def test_the_poll_timeout_error_names_an_open_transaction() -> None:
    answer = fetch_answer(high_watermark=120, last_stable_offset=60)
    committed = {"read_committed": True, "poll_timeout_ms": 10}
    with (
        scripted({FetchRequest: lambda _: answer}) as broker,
        pytest.raises(SourceError, match="an open transaction keeps records from offset 60 on"),
    ):
        list(fetch(quick(broker.endpoint, **committed), TP, start=60, stop=STOP))


def test_the_poll_timeout_error_names_the_end_of_the_log() -> None:
    answer = fetch_answer(high_watermark=60, last_stable_offset=60)
    with (
        scripted({FetchRequest: lambda _: answer}) as broker,
        pytest.raises(SourceError, match=r"log ends with offset 60; .*pollTimeoutMs"),
    ):
        list(fetch(quick(broker.endpoint, poll_timeout_ms=10), TP, start=60, stop=STOP))


def test_fetch_responses_without_the_partition_are_retried() -> None:
    answers = [FetchResponse(throttle_time_ms=1), FetchResponse(), FetchResponse(error_code=70)]

    with scripted() as broker:
        broker.handlers[FetchRequest] = lambda request: answers.pop(0) if answers else log(request)
        assert values(fetch(quick(broker.endpoint), TP, start=0, stop=STOP)) == expected()


def test_empty_fetches_of_a_throttling_broker_are_not_taken_for_a_compacted_end() -> None:
    answers = [fetch_answer() for _ in range(3)]
    for answer in answers:
        answer.throttle_time_ms = 1

    with scripted() as broker:
        broker.handlers[FetchRequest] = lambda request: answers.pop() if answers else log(request)
        assert values(fetch(quick(broker.endpoint), TP, start=0, stop=STOP)) == expected()


def test_records_of_a_throttled_response_are_returned_before_the_wait() -> None:
    def answer(request: FetchRequest) -> FetchResponse:
        result = log(request)
        result.throttle_time_ms = 0x7FFFFFFF
        return result

    with scripted({FetchRequest: answer}) as broker:
        reading = fetch(quick(broker.endpoint), TP, start=0, stop=STOP)
        begun = time.monotonic()

        assert values([next(reading)]) == expected(0, 20)
        assert time.monotonic() - begun < 15
        reading.close()


@pytest.mark.slow
def test_a_client_quota_throttles_a_read_without_loss_of_records(
    shared_broker: BrokerProcess,
) -> None:
    tp = seeded(shared_broker.bootstrap, "fetch-quota", 1030)
    settings = quick(Endpoint(*shared_broker.address), client_id="throttled", fetch_bytes=200_000)
    quota = [OpData("consumer_byte_rate", 100_000.0, False)]
    entity = [EntityData("client-id", "throttled")]
    with Cluster(settings) as cluster:
        change = AlterClientQuotasRequest([EntryData(entity, quota)])
        assert not cluster.ask_any(change).entries[0].error_code

        result = list(fetch(settings, tp, start=0, stop=1030, cluster=cluster))
        throttled = any(
            connection._session.not_before > 0 for connection in cluster._connections.values()
        )

    assert throttled
    assert stripped(values(result, 0, 1030)) == expected(0, 1030)


def test_fetched_records_have_the_aborted_transactions_of_the_response() -> None:
    aborted = [AbortedTransaction(7, 3), AbortedTransaction(8, 5)]
    with scripted(
        {FetchRequest: lambda _: fetch_answer(batch(0, STOP), aborted_transactions=aborted)}
    ) as broker:
        [result] = fetch(quick(broker.endpoint, read_committed=True), TP, start=0, stop=STOP)

    assert result.aborted == ((7, 3), (8, 5))


def test_a_truncated_last_batch_is_fetched_again() -> None:
    def cut(request: FetchRequest) -> FetchResponse:
        at = request.topics[0].partitions[0].fetch_offset
        return fetch_answer(batch(at, 10) + batch(at + 10, 10)[:-1])

    with scripted({FetchRequest: cut}) as broker:
        result = list(fetch(quick(broker.endpoint), TP, start=0, stop=STOP))

    assert {len(chunk.buffer) for chunk in result} == {len(batch(0, 10)), len(batch(10, 10))}
    assert values(result) == expected()


def test_batches_after_the_end_of_the_range_are_cut_off() -> None:
    with scripted({FetchRequest: lambda _: fetch_answer(batch(0, 5) + batch(5, 5))}) as broker:
        [result] = fetch(quick(broker.endpoint), TP, start=0, stop=5)

    assert bytes(result.buffer) == batch(0, 5)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (batch(0, 10), r"CORRUPT_RECORDS\] .*ends with offset 9, want at least 20"),
        (batch(20, 10)[:-1], r"CORRUPT_RECORDS\] .* hold no whole record batch"),
        (batch(20, 10)[:16] + b"\1" + bytes(90), r"UNSUPPORTED_VERSION\] .*magic 1"),
        (batch(20, 10)[:16] + b"\7" + bytes(90), r"CORRUPT_RECORDS\] .*magic 7"),
        (bytes(8) + b"\xff" * 4 + batch(20, 10)[12:], r"CORRUPT_RECORDS\] .*length -1"),
    ],
)
def test_malformed_records_of_a_fetch_are_an_error_with_the_offset(
    records: bytes, message: str
) -> None:
    with (
        scripted({FetchRequest: lambda _: fetch_answer(records)}) as broker,
        pytest.raises(SourceError, match=message),
    ):
        list(fetch(quick(broker.endpoint), TP, start=20, stop=STOP))


@pytest.fixture(scope="module")
def garbage() -> Iterator[Scripted]:
    with scripted() as broker:
        yield broker


changes = st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(1, 255)), max_size=3)
faults = st.fixed_dictionaries(
    {
        "cut": st.none() | st.integers(0, 400),
        "changed": changes,
        "correlation": st.sampled_from([0, 0, 0, 1]),
        "metadata": st.none() | st.integers(0, 60),
    }
)


def spoiled(good: bytes, fault: dict[str, Any]) -> bytes:
    """An answer with some bytes changed, or cut."""
    body = bytearray(good)
    for at, change in fault["changed"]:
        body[at % len(body)] ^= change
    return bytes(body[: fault["cut"]])


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(faults, min_size=1, max_size=3))
def test_corrupted_fetch_responses_are_read_or_fail_with_a_typed_error(
    garbage: Scripted, planned: list[dict[str, Any]]
) -> None:
    number = 0

    def answer(request: Any) -> bytes:
        nonlocal number
        number += 1
        version = garbage.received[-1][1]
        good = log(request) if isinstance(request, FetchRequest) else offsets_answer(request)
        fault = planned[number % len(planned)]
        body = spoiled(to_bytes(good, version), fault)
        right = garbage.correlations[-1]
        return small_answer(right + fault["correlation"], body, flexible=True)

    def metadata(request: Any) -> Any:
        """Cut only: an address with a byte changed might be one of another machine."""
        at = planned[0]["metadata"]
        if at is None:
            return garbage.metadata(request)
        whole = to_bytes(garbage.metadata(request), garbage.received[-1][1])
        return small_answer(garbage.correlations[-1], whole[:at], flexible=True)

    garbage.handlers[MetadataRequest] = metadata
    garbage.handlers[FetchRequest] = garbage.handlers[ListOffsetsRequest] = answer
    quickest = quick(garbage.endpoint, api_timeout_ms=20, request_timeout_ms=50, poll_timeout_ms=20)

    with suppress(SourceError):
        for chunk in fetch(quickest, TP, start=0, stop=STOP):
            assert chunk.next_offset > 0
