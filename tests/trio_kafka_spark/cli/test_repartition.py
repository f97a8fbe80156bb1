"""`trio-kafka spark repartition`: into a broker, where confluent's partitioner agrees."""

import pytest

from tests.trio_kafka_spark.cli.kit import run
from tests.trio_kafka_spark.cli.test_writing import create
from tests.trio_kafka_spark.log.kit import log, rows


@pytest.mark.spark
def test_repartition_keeps_records_of_a_key_in_one_partition_and_in_order(
    spark, shared_broker, tmp_path, capsys
):
    log(tmp_path)
    create(shared_broker, "repartitioned", 4)
    address = ("--to-bootstrap", shared_broker.bootstrap, "--to-topic", "repartitioned")

    assert run("repartition", "--path", tmp_path, "--topic", "t", *address) == 0
    assert "120 records written to 4 partitions" in capsys.readouterr().out

    result = rows(shared_broker.data, subscribe="repartitioned")
    places: dict[bytes, set[int]] = {}
    order: dict[bytes, list[int]] = {}
    for row in result:
        places.setdefault(row["key"], set()).add(row["partition"])
        order.setdefault(row["key"], []).append(int(row["value"].rstrip(b".")))
    assert all(len(place) == 1 for place in places.values())
    assert len(set.union(*places.values())) > 1
    assert all(values == sorted(values) for values in order.values())
    assert sum(map(len, order.values())) == 120
