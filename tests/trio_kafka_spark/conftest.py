"""One Spark session, with Spark's own Kafka connector in it, for all tests that carry the marker.

The session and its brokers live as long as the process: `make test` runs these tests in one of
their own. Tests without the marker use none of this but `shared_broker`.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# `make test SPARK=no` installs none of the extra [spark], which nearly all of these tests import.
collect_ignore_glob = [] if find_spec("pyspark") is not None else ["*"]
FETCH = Path(__file__).parent / "jars" / "fetch.sh"
SESSION_TIMEOUT_S = 180.0
# A JVM that lives for two minutes: what the optimising compiler costs, it never saves.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test waits for the session; warnings of Spark's own modules are no errors."""
    for item in items:
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.filterwarnings("default"))
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(SESSION_TIMEOUT_S))


@pytest.fixture(scope="session")
def connector_jars() -> list[Path]:
    """The jars of Spark's own connector, which `make jars` fetches."""
    for program in ("java", "mvn", "flock"):
        if shutil.which(program) is None:
            pytest.skip(
                f"{program} is not installed: apt-get install openjdk-17-jdk maven util-linux"
            )
    printed = subprocess.run([FETCH], check=True, stdout=subprocess.PIPE, text=True).stdout
    return sorted(Path(printed.strip()).glob("*.jar"))


@pytest.fixture(scope="session")
def spark(
    connector_jars: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator["SparkSession"]:
    """A session of two threads, with both formats of ours and Spark's own `kafka`."""
    pytest.importorskip("pyspark", reason="pyspark is not installed: make test SPARK=yes")
    from trio_kafka_spark.session import session

    directory = tmp_path_factory.mktemp("spark")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark_session = session(
        "tests",
        settings={
            "spark.jars": ",".join(map(str, connector_jars)),
            "spark.local.dir": directory,
            "spark.driver.extraJavaOptions": JAVA,
            "spark.driver.memory": "900m",
            "spark.sql.warehouse.dir": directory / "warehouse",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.streaming.noDataMicroBatches.enabled": "false",
            # Queries of a few rows: planning them twice and compiling them costs a third.
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        },
    )
    spark_session.sparkContext.setLogLevel("ERROR")
    yield spark_session
    spark_session.stop()
