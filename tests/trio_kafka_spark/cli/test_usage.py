"""`trio-kafka spark usage`."""

import json

import pytest

from tests.trio_kafka_spark.cli.kit import run
from tests.trio_kafka_spark.jobs.test_request_log import line
from tests.trio_kafka_spark.log.kit import log, partition, segment
from trio_kafka.records.batch import Record, encode_batch

pytestmark = pytest.mark.spark


def test_usage_shows_topics_or_clients(spark, tmp_path, capsys):
    log(tmp_path)
    written = encode_batch([Record(value=line("FETCH", "me").encode(), timestamp=1)])
    segment(partition(tmp_path, 0, "trio-request-log"), [written])

    assert run("usage", "--path", tmp_path, "--topic", "t") == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:5] == ["t", "1", "3", "12", "120"]
    assert run("usage", "--path", tmp_path, "--clients", "--json") == 0
    assert json.loads(capsys.readouterr().out)["client_id"] == "me"


def test_usage_of_topics_without_a_log_directory_is_refused(spark, capsys):
    assert run("usage", "--bootstrap", "127.0.0.1:1") == 1
    assert "name them with --path" in capsys.readouterr().err
