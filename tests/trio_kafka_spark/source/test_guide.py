"""docs/how-to/spark.md: its options and defaults are those of the code, its examples run."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.trio_kafka_spark.source.kit import create_topic, numbered, produce
from trio_kafka.testing.processes import BrokerProcess
from trio_kafka_spark.source.options import OPTIONS, Mode, parse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GUIDE = (Path(__file__).parents[3] / "docs" / "how-to" / "spark.md").read_text()
ROWS = [
    (name, default.strip())
    for name, default in re.findall(r"^\| `([\w.]+)` \|(.*?)\|", GUIDE, re.MULTILINE)
]
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
REQUIRED = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "orders"}


def test_each_option_is_in_the_table_of_the_guide_once() -> None:
    assert sorted(name for name, _ in ROWS) == sorted(OPTIONS)


def test_defaults_in_the_table_of_the_guide_are_the_defaults_of_the_options() -> None:
    defaults = {
        name: default.strip("`")
        for name, default in ROWS
        if re.fullmatch(r"`.+`", default) and not name.startswith("ending")
    }

    assert len(defaults) >= 8
    assert parse({**REQUIRED, **defaults}, Mode.STREAM) == parse(REQUIRED, Mode.STREAM)


@pytest.mark.spark
def test_the_examples_of_the_guide_run(
    spark: "SparkSession", sampled_broker: BrokerProcess, tmp_path: Path
) -> None:
    create_topic(sampled_broker.bootstrap, "orders")
    produce(sampled_broker.bootstrap, "orders", numbered(20))
    names: dict[str, Any] = {"checkpoint": str(tmp_path)}

    for block in BLOCKS:
        exec(block.replace("localhost:9092", sampled_broker.bootstrap), names)

    assert names["spark"] is spark
    assert names["orders"].count() == 20
    assert names["since"].count() == 20
    assert names["values"].columns == ["value", "offset"]
    assert sum(row["numInputRows"] for row in names["query"].recentProgress) == 20
    assert names["late"].count() == 0
