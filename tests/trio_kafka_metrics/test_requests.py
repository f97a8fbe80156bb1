import re

from trio.testing import MockClock

from tests.apis.kit import batch
from tests.trio_kafka_metrics.kit import harness, read, values
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k48_describe_client_quotas import DescribeClientQuotasRequest
from trio_kafka.testing.scripted_client import request_frame
from trio_kafka_metrics.quantile_sketch import TURN_S
from trio_kafka_metrics.requests import MOST_VERSIONS, RequestMetrics

OF = "kafka_network_requestmetrics_"
FETCH = 1 << 16
APIS = 18 << 16


def stamps(code: int, *, sent: float = 1.0, error: int = 0, size: int = 100) -> Stamps:
    """A request whose hops took 1, 2, 3, 4 and 5 ms."""
    at = [sent - 0.015, sent - 0.014, sent - 0.012, sent - 0.009, sent - 0.005]
    request = Stamps(
        received=at[0],
        begun=at[1],
        code=code,
        correlation=0,
        request_bytes=size,
        handled=at[2],
        answered=at[3],
        sending=at[4],
    )
    request.sent, request.error, request.response_bytes = sent, error, 1
    return request


async def test_hops_versions_errors_and_sizes_of_requests_are_exported_per_api(
    autojump_clock: MockClock,
) -> None:
    async with harness() as plugin_harness:
        metrics = RequestMetrics(plugin_harness.parts)
        for error in (0, 0, 35):
            metrics.note(stamps(APIS | 3, error=error))
        plugin_harness.parts.planes[0].request_metrics.of(18)

        result = read(lambda _, collected: metrics.read(collected), plugin_harness.parts)

    hops = ("requestqueue", "local", "remote", "responsequeue", "responsesend", "total")
    for hop, expected in zip(hops, (1, 2, 3, 4, 5, 15), strict=True):
        value = result[f"{OF}{hop}timems{{quantile=0.99,request=ApiVersions}}"]
        assert abs(value - expected) <= expected / 15
        assert result[f"{OF}{hop}timems_count{{request=ApiVersions}}"] == 3
    assert result[f"{OF}throttletimems{{quantile=0.999,request=ApiVersions}}"] == 0
    assert abs(result[f"{OF}requestbytes{{quantile=0.50,request=ApiVersions}}"] - 100) < 7
    assert result[f"{OF}requests_total{{request=ApiVersions,version=3}}"] == 3
    assert result[f"{OF}errors_total{{error=NONE,request=ApiVersions}}"] == 2
    assert result[f"{OF}errors_total{{error=UNSUPPORTED_VERSION,request=ApiVersions}}"] == 1


async def test_number_of_request_version_labels_is_bounded(autojump_clock: MockClock) -> None:
    async with harness() as plugin_harness:
        metrics = RequestMetrics(plugin_harness.parts)
        for version in range(1000):
            metrics.note(stamps(APIS | version))

        result = read(lambda _, collected: metrics.read(collected), plugin_harness.parts)

    versions = [name for name in result if name.startswith(f"{OF}requests_total")]
    assert len(versions) == MOST_VERSIONS + 1
    assert (
        result[f"{OF}requests_total{{request=ApiVersions,version=other}}"] == 1000 - MOST_VERSIONS
    )


async def test_fetch_of_a_consumer_counts_as_fetch_and_as_fetch_consumer(
    autojump_clock: MockClock,
) -> None:
    async with harness() as plugin_harness:
        metrics = RequestMetrics(plugin_harness.parts)
        metrics.note(stamps(FETCH | 17))

        result = read(lambda _, collected: metrics.read(collected), plugin_harness.parts)

    for name in ("Fetch", "FetchConsumer"):
        assert result[f"{OF}totaltimems_count{{request={name}}}"] == 1


async def test_old_requests_leave_the_quantiles_but_not_the_count(
    autojump_clock: MockClock,
) -> None:
    async with harness() as plugin_harness:
        metrics = RequestMetrics(plugin_harness.parts)
        metrics.note(stamps(APIS, size=1 << 20))
        for turn in (1, 2):
            metrics.note(stamps(APIS, sent=1.0 + turn * (TURN_S + 1), size=8))

        result = read(lambda _, collected: metrics.read(collected), plugin_harness.parts)

    assert result[f"{OF}requestbytes{{quantile=0.999,request=ApiVersions}}"] < 10
    assert result[f"{OF}requestbytes_count{{request=ApiVersions}}"] == 3


async def test_request_metrics_are_off_by_default(autojump_clock: MockClock) -> None:
    async with harness() as plugin_harness:
        await plugin_harness.ask(ApiVersionsRequest("a", "1"))
        assert plugin_harness.parts.planes[0].request_metrics.log is None
        assert [name for name in await values(plugin_harness) if name.startswith(OF)] == []


async def test_enabled_request_metrics_record_every_request_until_the_plugin_stops(
    autojump_clock: MockClock,
) -> None:
    async with harness({"requests": "true"}) as plugin_harness:
        await plugin_harness.ask(DescribeClientQuotasRequest())
        result = await values(plugin_harness)
        times = plugin_harness.parts.planes[0].request_metrics
        assert plugin_harness.parts.error_counts.active
        await plugin_harness.host.stop()

        assert times.log is None
        assert not plugin_harness.parts.error_counts.active
    named = [name for name in result if name.startswith(f"{OF}totaltimems_count")]
    assert named == [f"{OF}totaltimems_count{{request=DescribeClientQuotas}}"]


async def test_error_counts_include_each_topic_and_partition_of_a_response(
    autojump_clock: MockClock,
) -> None:
    """As Kafka counts: each topic and partition of an answer, NONE too; no answer says nothing."""
    async with harness({"requests": "true"}) as plugin_harness:
        assert plugin_harness.served is not None
        topic_id = await plugin_harness.served.create_topic("t", partitions=2)

        def produce(acks: int, *partitions: int) -> ProduceRequest:
            data = [PartitionProduceData(number, batch(b"x")) for number in partitions]
            topics = [TopicProduceData(topic_id=topic_id, partition_data=data)]
            return ProduceRequest(acks=acks, topic_data=topics)

        async with plugin_harness.served.connect() as client:
            await client.ask(produce(1, 0, 1, 7), 13)
            await client.ask(produce(-1, 0, 9), 13)
            await client.send(request_frame(produce(0, 1), 13))
            await client.ask(ApiVersionsRequest("a", "1"), 3)
        metadata_topics = [MetadataRequestTopic(name=name) for name in ("t", "none", "nothing")]
        for _ in range(2):
            await plugin_harness.ask(
                MetadataRequest(metadata_topics, allow_auto_topic_creation=False), 12
            )
        await plugin_harness.ask(MetadataRequest(metadata_topics[:1]), 12)
        await plugin_harness.ask(MetadataRequest(metadata_topics[:1]), 12)
        result = await values(plugin_harness)

    def errors(api: str) -> dict[str, float]:
        pattern = re.compile(rf"{OF}errors_total{{error=(\w+),request={api}}}")
        return {match[1]: result[name] for name in result if (match := pattern.fullmatch(name))}

    assert errors("Produce") == {"NONE": 3, "UNKNOWN_TOPIC_OR_PARTITION": 2}
    # Of each of four answers: the topic and its two partitions.
    assert errors("Metadata") == {"NONE": 12, "UNKNOWN_TOPIC_OR_PARTITION": 4}
    assert errors("CreateTopics") == {"NONE": 1}
