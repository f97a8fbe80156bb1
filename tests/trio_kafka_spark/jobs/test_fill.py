"""Fill and ratio of batches."""

import pytest

from tests.trio_kafka_spark.jobs.kit import view
from tests.trio_kafka_spark.log.kit import batch, partition, sample, segment
from trio_kafka.records.compression import Codec
from trio_kafka_spark.jobs.fill import batch_fill

pytestmark = pytest.mark.spark


def test_batch_fill_is_summed_up_by_topic_and_codec(spark, tmp_path):
    plain = [batch(0, 1), batch(1, 3)]
    small = [batch(4, 10, size=500, codec=Codec.GZIP)]
    segment(partition(tmp_path), [*plain, *small])

    result = {row["codec"]: row for row in fill(spark, tmp_path).collect()}

    none, gzip = result["none"], result["gzip"]
    assert (none["batches"], none["records"], none["ratio"]) == (2, 4, 1.0)
    assert (none["bytes"], none["records_per_batch"]) == (sum(map(len, plain)), 2.0)
    assert none["single_record_percent"] == 50.0
    assert gzip["uncompressed_bytes"] == len(batch(4, 10, size=500))
    assert gzip["ratio"] == round(len(batch(4, 10, size=500)) / len(small[0]), 3) > 2
    assert gzip["batch_bytes_p95"] == len(small[0])


def test_control_batches_do_not_count_in_the_batch_fill(spark, tmp_path):
    sample(tmp_path, "txn")

    (result,) = fill(spark, tmp_path).collect()

    assert result["records"] == 30
    assert result["batches"] < 15


def fill(spark, root):
    return batch_fill(view(spark, root, "batches", uncompressed="true"))
