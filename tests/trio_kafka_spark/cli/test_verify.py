"""`trio-kafka spark verify`."""

import pytest

from tests.trio_kafka_spark.cli.kit import run
from tests.trio_kafka_spark.log.kit import flip, positions, sample


@pytest.mark.spark
def test_verify_exits_with_0_for_a_healthy_log_and_1_for_a_damaged_log(spark, tmp_path, capsys):
    path = sample(tmp_path, "plain") / "plain-0" / "00000000000000000000.log"

    assert run("verify", "--path", tmp_path) == 0
    assert capsys.readouterr() == ("", "everything agrees\n")
    damaged = positions(path)[0]
    flip(path, damaged + 70)
    assert run("verify", "--path", tmp_path) == 1
    shown = capsys.readouterr()
    assert "the CRC does not match" in shown.out
    assert "findings" in shown.err
