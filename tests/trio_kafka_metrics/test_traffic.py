from trio.testing import MockClock

from tests.trio_kafka_metrics.kit import harness, read
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from trio_kafka.records.batch import Record, encode_batch
from trio_kafka_metrics.traffic import read_traffic

OF = "kafka_server_brokertopicmetrics_"


async def test_produced_and_fetched_traffic_is_exported_in_total_and_per_topic(
    autojump_clock: MockClock,
) -> None:
    batch = encode_batch([Record(key=None, value=b"v" * 100)] * 7)
    async with harness() as plugin_harness:
        topic_id = await plugin_harness.served.create_topic("t")
        sent = PartitionProduceData(0, batch)
        produced = await plugin_harness.ask(
            ProduceRequest(
                acks=1, timeout_ms=1000, topic_data=[TopicProduceData("t", topic_id, [sent])]
            )
        )
        expected = FetchPartition(0, fetch_offset=0, partition_max_bytes=1 << 20)
        await plugin_harness.ask(
            FetchRequest(
                max_wait_ms=0,
                min_bytes=0,
                topics=[FetchTopic(topic_id=topic_id, partitions=[expected])],
            )
        )
        result = read(read_traffic, plugin_harness.parts)

    assert produced.responses[0].partition_responses[0].error_code == 0
    for labels in ("", "{topic=t}"):
        assert result[f"{OF}messagesin_total{labels}"] == 7
        assert result[f"{OF}bytesin_total{labels}"] == len(batch)
        assert result[f"{OF}bytesout_total{labels}"] == len(batch)
        assert result[f"{OF}totalproducerequests_total{labels}"] == 1
        assert result[f"{OF}totalfetchrequests_total{labels}"] == 1
        assert result[f"{OF}failedproducerequests_total{labels}"] == 0
    assert result[f"{OF}producemessageconversions_total"] == 0


async def test_topics_above_the_series_limit_count_only_in_the_total(
    autojump_clock: MockClock,
) -> None:
    async with harness() as plugin_harness:
        for name in ("t", "u", "v"):
            await plugin_harness.served.create_topic(name)
            plugin_harness.parts.replicas.partition(name, 0).topic_metrics.bytes_in = 5

        result = read(read_traffic, plugin_harness.parts, most=15)

    assert result["dropped"] == 7
    assert result[f"{OF}bytesin_total"] == 15
    assert len([name for name in result if name.startswith(f"{OF}bytesin_total{{")]) == 2
