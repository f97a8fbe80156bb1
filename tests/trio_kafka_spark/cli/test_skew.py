"""`trio-kafka spark skew`."""

import pytest

from tests.trio_kafka_spark.cli.kit import run
from tests.trio_kafka_spark.log.kit import log


@pytest.mark.spark
def test_skew_shows_partitions_or_the_most_frequent_keys(spark, tmp_path, capsys):
    log(tmp_path)

    assert run("skew", "--path", tmp_path) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:3] == ["t", "0", "120"]
    assert run("skew", "--path", tmp_path, "--topic", "t", "--keys", "--most", 2) == 0
    table = capsys.readouterr().out.splitlines()
    assert len(table) == 3
    assert table[1].split()[:4] == ["t", "k0", "1", "18"]
