"""Metrics of a consumer, by Kafka's names."""

from trio_kafka.clients import open_consumer
from trio_kafka.model import TopicPartition
from trio_kafka.testing.simulate import simulate

AT = TopicPartition("t", 0)


@simulate(seeds=2)
async def test_fetches_records_and_lag_are_counted(sim):
    await sim.kafka.create_topic("t")
    for _ in range(5):
        await sim.kafka.produce("t", bytes(100))
    config = {
        "bootstrap.servers": str(sim.lives.address),
        "group.id": "g",
        "auto.offset.reset": "earliest",
        "max.poll.records": 2,
    }
    async with open_consumer(config, world=sim.clients) as consumer:
        consumer.subscribe(["t"])
        records = await consumer.poll(10.0)
        lag = consumer.lag(AT)
        await consumer.commit()
        metrics = {(name.group, name.name): value for name, value in consumer.metrics().items()}
    fetches, group = "consumer-fetch-manager-metrics", "consumer-coordinator-metrics"

    assert len(records) == 2
    assert metrics[fetches, "records-consumed-total"] == 2
    assert metrics[fetches, "records-lag-max"] == lag == 3
    assert metrics[fetches, "bytes-consumed-total"] > 500
    assert metrics[fetches, "fetch-total"] >= 1
    assert metrics[fetches, "fetch-latency-avg"] > 0
    assert metrics[group, "assigned-partitions"] == 1
    assert metrics[group, "commit-total"] == 1
    assert metrics[group, "rebalance-total"] >= 1
    assert metrics["consumer-metrics", "connection-count"] >= 2
