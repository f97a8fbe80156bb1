import pytest

from tests.replication.kit import LANE, batch, open_cluster, state, want
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.replication.leader.append import append, append_acknowledged
from trio_kafka.replication.leader.fetch import FetchLimits
from trio_kafka.replication.topic_metrics import MetricsByTopic, TopicMetrics
from trio_kafka.scheduling.chunked_work import advance, whole


@pytest.fixture(autouse=True)
def _empty_lane() -> None:
    LANE.clear()


def numbers(metrics: TopicMetrics) -> tuple[int, ...]:
    return (
        *(
            metrics.produces,
            metrics.failed_produces,
            metrics.bytes_in,
            metrics.records_in,
        ),
        *(metrics.fetches, metrics.failed_fetches, metrics.bytes_out),
    )


def fetch(cluster, topic: str, number: int = 0, *, follower=None, offset: int = 0):
    expected = {(cluster.topic_id(topic), number): want(offset)}
    answer = cluster.replication.fetches.begin(
        expected, FetchLimits(min_bytes=0, follower=follower)
    )
    answer.release()
    return answer


async def test_appended_records_and_bytes_are_counted_by_topic(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1), 1: state(1)}, u={0: state(1)})
    partition = cluster.replicas.partition

    append(partition("t", 0), batch(3), acks=1)
    append(partition("t", 1), batch(2), acks=1)
    append(partition("u", 0), batch(5), acks=1)

    size = len(batch(3)) + len(batch(2))
    by_topic = dict(cluster.replication.topic_metrics)
    assert numbers(by_topic["t"]) == (2, 0, size, 5, 0, 0, 0)
    assert numbers(by_topic["u"]) == (1, 0, len(batch(5)), 5, 0, 0, 0)
    total = whole(cluster.replication.topic_metrics.total())
    assert (total.produces, total.records_in) == (3, 10)


async def test_only_bytes_sent_to_consumers_are_counted(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    size = len(batch(3))
    append(cluster.replicas.partition("t", 0), batch(3), acks=1)

    assert fetch(cluster, "t").size == 0  # given back
    fetch(cluster, "t", offset=3)  # nothing is there
    fetch(cluster, "t", offset=9)  # out of range: what clients cause

    (metrics,) = dict(cluster.replication.topic_metrics).values()
    assert (metrics.fetches, metrics.failed_fetches, metrics.bytes_out) == (
        3,
        0,
        size,
    )


async def test_waiting_fetch_counts_no_bytes_until_its_response(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    append(cluster.replicas.partition("t", 0), batch(), acks=1)
    limits = FetchLimits(min_bytes=1 << 20)
    expected = {(cluster.topic_id("t"), 0): want()}

    delayed = cluster.replication.fetches.begin(expected, limits)
    (metrics,) = dict(cluster.replication.topic_metrics).values()
    assert (metrics.fetches, metrics.bytes_out) == (1, 0)

    answer = delayed.try_complete(True)
    assert (metrics.fetches, metrics.bytes_out) == (2, answer.size)
    assert answer.size == len(batch())
    answer.release()


async def test_bytes_fetched_by_followers_are_not_counted(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1, 2)})
    append(cluster.replicas.partition("t", 0), batch(), acks=1)

    fetch(cluster, "t", follower=2)

    assert whole(cluster.replication.topic_metrics.total()).bytes_out == 0


def test_errors_caused_by_clients_are_not_counted_as_failures() -> None:
    metrics = TopicMetrics()

    for code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.CORRUPT_MESSAGE):
        metrics.count_failed_produce(code)
    for code in (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.INVALID_TIMESTAMP):
        metrics.count_failed_produce(code)
    for code in (ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.UNKNOWN_SERVER_ERROR):
        metrics.count_failed_fetch(code)

    assert (metrics.failed_produces, metrics.failed_fetches) == (2, 1)


async def test_failed_append_is_counted_as_a_request(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})

    with pytest.raises(KafkaError):
        append(cluster.replicas.partition("t", 0), memoryview(bytearray(80)), acks=1)

    assert numbers(whole(cluster.replication.topic_metrics.total()))[:4] == (1, 0, 0, 0)


async def test_counts_of_a_deleted_topic_stay_in_the_total(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1), 1: state(1)})
    append(cluster.replicas.partition("t", 1), batch(4), acks=1)

    cluster.change(t=None)

    assert dict(cluster.replication.topic_metrics) == {}
    assert whole(cluster.replication.topic_metrics.total()).records_in == 4


def test_metrics_of_a_topic_are_kept_until_its_last_partition_is_removed() -> None:
    metrics = MetricsByTopic()
    first = metrics.join("t")

    assert metrics.join("t") is first
    metrics.leave("t")
    assert [topic for topic, _ in metrics] == ["t"]
    metrics.leave("t")
    assert len(metrics) == 0
    assert metrics.join("t") is not first


def test_topic_deleted_during_the_sum_counts_once() -> None:
    metrics = MetricsByTopic()
    for number in range(600):
        metrics.join(f"t{number}").bytes_in = 1
    steps = metrics.total()

    assert advance(steps, lambda: 1.0, 0.0) is None  # a first step
    for number in range(600):
        metrics.leave(f"t{number}")

    assert whole(steps).bytes_in == 600
    assert whole(metrics.total()).bytes_in == 600


async def test_a_refused_append_of_a_client_is_counted_unless_the_client_caused_it(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1, replicas=(1, 2))})
    cluster.configure("t", min_insync_replicas="2")
    partition = cluster.replicas.partition("t", 0)
    corrupt = batch()
    corrupt[-1] ^= 1

    for acks, records in ((-1, batch()), (1, corrupt)):
        with pytest.raises(KafkaError):
            append_acknowledged(partition, records, acks=acks, zstd=True, timeout_s=1.0)

    (metrics,) = dict(cluster.replication.topic_metrics).values()
    assert (metrics.produces, metrics.failed_produces) == (2, 1)
