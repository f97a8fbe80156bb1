"""`trio-kafka spark dump`."""

import pytest

from tests.trio_kafka_spark.cli.kit import run
from tests.trio_kafka_spark.log.kit import log


@pytest.mark.spark
def test_dump_shows_records_as_text_from_the_starting_offsets(spark, tmp_path, capsys):
    log(tmp_path)
    some = '{"t": {"0": 7}}'

    assert (
        run("dump", "--path", tmp_path, "--topic", "t", "--starting-offsets", some, "--rows", 1)
        == 0
    )

    row = capsys.readouterr().out.splitlines()[1]
    assert row.split()[:3] == ["t", "0", "7"]
    assert row.split()[-3:] == ["2", "21", "h=7"]
    assert run("dump", "--path", tmp_path, "--topic", "nothing") == 1
    assert "no directory of nothing" in capsys.readouterr().err
