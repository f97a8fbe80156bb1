"""`trio-kafka spark fill`."""

import pytest

from tests.trio_kafka_spark.cli.kit import run
from tests.trio_kafka_spark.log.kit import log


@pytest.mark.spark
def test_fill_shows_a_row_per_topic_and_codec(spark, tmp_path, capsys):
    log(tmp_path)

    assert run("fill", "--path", tmp_path) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:4] == ["t", "none", "12", "120"]
    assert run("fill", "--path", tmp_path, "--option", "splitByte=1") == 1
    assert "did you mean splitBytes?" in capsys.readouterr().err
