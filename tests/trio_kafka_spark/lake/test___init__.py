import subprocess
import sys

import pytest

from trio_kafka_spark import lake


def test_each_exported_name_of_the_lake_package_is_importable() -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed: make test SPARK=yes")

    for name in lake.__all__:
        assert getattr(lake, name).__name__ == name
    assert sorted(lake._MODULES) == sorted(lake.__all__)


def test_an_unknown_name_of_the_lake_package_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute topic_to_tables"):
        _ = lake.topic_to_tables


def test_importing_the_lake_package_imports_neither_pyspark_nor_trio() -> None:
    program = "import sys, trio_kafka_spark.lake; print({'pyspark', 'trio'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "set()"


def test_writers_and_table_sinks_do_not_import_trio() -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed: make test SPARK=yes")
    program = (
        "import sys, trio_kafka_spark.sink.writer, trio_kafka_spark.lake.sink,"
        " trio_kafka_spark.lake.delta; print('trio' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "False"
