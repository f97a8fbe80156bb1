"""`trio-kafka spark compaction`."""

import json

import pytest

from tests.trio_kafka_spark.cli.kit import run
from tests.trio_kafka_spark.log.kit import log


@pytest.mark.spark
def test_compaction_counts_the_active_segment_only_with_include_active(spark, tmp_path, capsys):
    log(tmp_path)

    assert run("compaction", "--path", tmp_path, "--topic", "t", "--json") == 0
    without = json.loads(capsys.readouterr().out)
    assert run("compaction", "--path", tmp_path, "--topic", "t", "--json", "--include-active") == 0
    everything = json.loads(capsys.readouterr().out)

    assert (without["records"], without["removed_records"], without["not_cleaned"]) == (80, 73, 40)
    assert (everything["records"], everything["removed_records"]) == (120, 113)
