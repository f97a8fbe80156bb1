"""librdkafka's idempotent producers, through stops in order."""

from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Producer

from tests.e2e.clients import end_offset, new_topic, read, settings, values_of
from tests.e2e.test_kill import serving
from trio_kafka.testing.ports import unused_port

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


def test_idempotent_producer_writes_each_record_once_across_clean_restarts(
    tmp_path: Path,
) -> None:
    port, lives, count = unused_port(), 2, 3000
    refused: list[KafkaError] = []
    written: list[bytes] = []
    with serving(tmp_path, port, "log.roll.ms=150") as broker:
        topic = new_topic(broker)
        producer = Producer(settings(broker, enable_idempotence=True, linger_ms=1))

        def send(values: list[bytes]) -> None:
            for value in values:
                producer.produce(
                    topic,
                    value,
                    partition=0,
                    on_delivery=lambda error, _: error and refused.append(error),
                )
                producer.poll(0)
            written.extend(values)

        send([b"%07d" % n for n in range(count)])  # some are on the way when it stops
    for life in range(1, lives):
        with serving(tmp_path, port, "log.roll.ms=150"):
            send([b"%07d" % (n + life * count) for n in range(count)])
    with serving(tmp_path, port, "log.roll.ms=150") as broker:
        assert producer.flush(60) == 0
        assert refused == []
        assert values_of(read(broker, topic, len(written))) == written
        assert end_offset(broker, topic, 0) == len(written)
