"""A broker on directories that Apache Kafka wrote: compacted, trimmed, transactional."""

import shutil
import tarfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.trio_kafka_spark.source.kit import create_topic
from trio_kafka.testing.processes import BrokerProcess, broker_process

if TYPE_CHECKING:
    from trio_kafka_spark.source.stream import StreamReader

_OF_PYSPARK = (
    "apache_kafka",
    "batch",
    "equality",
    "filters",
    "first_batch",
    "plan",
    "reading",
    "schema",
    "stream",
)
# `make test SPARK=no`: only what needs no pyspark.
collect_ignore = (
    [] if find_spec("pyspark") is not None else [f"test_{name}.py" for name in _OF_PYSPARK]
)
SAMPLES = Path(__file__).parents[2] / "log" / "data"
# compacted: offsets 0 to 32 with gaps. trimmed: starts at offset 25 of 40. txn: committed and
# aborted records up to offset 31, then an open transaction.
SAMPLED = ("compacted", "trimmed", "txn")


@pytest.fixture(scope="session")
def sampled_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """One trio-kafka broker for all tests of the source; they make further topics as they like."""
    directory = tmp_path_factory.mktemp("sampled")
    with broker_process(directory) as broker:
        for name in SAMPLED:
            create_topic(broker.bootstrap, name, partitions=1)
    for name in SAMPLED:
        partition = directory / "data" / f"{name}-0"
        own = (partition / "partition.metadata").read_bytes()
        shutil.rmtree(partition)
        with tarfile.open(SAMPLES / f"{name}.tar.gz") as archive:
            archive.extractall(directory / "data", filter="data")
        (partition / "partition.metadata").write_bytes(own)
    starts = directory / "data" / "log-start-offset-checkpoint"
    starts.write_text("0\n1\ntrimmed 0 25\n")
    # The samples are older than any retention, which begins within a slow run of the tests.
    with broker_process(directory, "log.retention.ms=-1") as broker:
        yield broker


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic name of the test's own; the test creates it."""
    name = "".join(each if each.isalnum() else "-" for each in request.node.name)
    return f"{name[-100:].strip('-')}-{abs(hash(request.node.nodeid)) % 10**6}"


@pytest.fixture
def streams() -> "Iterator[Callable[..., StreamReader]]":
    """Makes readers of streams from options, and stops them."""
    from tests.trio_kafka_spark.source.readers import stream_reader

    with ExitStack() as stack:

        def make(**options: str) -> "StreamReader":
            reader = stream_reader(**options)
            stack.callback(reader.stop)
            return reader

        yield make
