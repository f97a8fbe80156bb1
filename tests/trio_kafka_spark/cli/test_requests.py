"""`trio-kafka spark requests`."""

import json

import pytest

from tests.trio_kafka_spark.cli.kit import run
from tests.trio_kafka_spark.jobs.test_request_log import line
from tests.trio_kafka_spark.log.kit import partition, segment
from trio_kafka.records.batch import Record, encode_batch


@pytest.mark.spark
def test_requests_are_shown_grouped_by_the_chosen_columns(spark, tmp_path, capsys):
    texts = [line("FETCH", client) for client in "aab"]
    records = [Record(value=text.encode(), timestamp=1) for text in texts]
    segment(partition(tmp_path, 0, "log-of-requests"), [encode_batch(records)])

    status = run(
        *("requests", "--path", tmp_path, "--topic", "log-of-requests"),
        *("--by", "client_id", "--by", "api", "--json"),
    )

    rows = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    assert status == 0
    assert [(row["client_id"], row["api"], row["requests"]) for row in rows] == [
        ("a", "FETCH", 2),
        ("b", "FETCH", 1),
    ]
