"""`trio-kafka spark lag`."""

import json

import pytest

from tests.trio_kafka_spark.cli.kit import run
from tests.trio_kafka_spark.jobs.test_lag import commit
from tests.trio_kafka_spark.log.kit import TIME, batch, partition, segment
from trio_kafka.records.batch import Record, encode_batch


@pytest.mark.spark
def test_lag_shows_only_the_chosen_group_and_topic(spark, tmp_path, capsys):
    records = []
    for group, topic in (("g", "t"), ("h", "t"), ("g", "u")):
        key, value = commit(group, 4, topic)
        records.append(Record(timestamp=TIME, key=key, value=value))
    segment(partition(tmp_path, 3, "__consumer_offsets"), [encode_batch(records)])
    segment(partition(tmp_path), [batch(0)])

    assert run("lag", "--path", tmp_path, "--topic", "t", "--group", "g", "--json") == 0

    (row,) = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    assert (row["group"], row["topic"], row["lag"]) == ("g", "t", 6)
