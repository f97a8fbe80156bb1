"""The listener, on streams of a real session."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.trio_kafka_spark.test_posting import Plane, plane
from trio_kafka_spark.posting import TOKEN, URL

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def posting_plane(spark: "SparkSession", monkeypatch: pytest.MonkeyPatch) -> Iterator[Plane]:
    """The broker of this child: the session of the suite posts to it."""
    from trio_kafka_spark.progress import stop_posting
    from trio_kafka_spark.session import session

    with plane() as server:
        monkeypatch.setenv(URL, server.url)
        monkeypatch.setenv(TOKEN, "t")
        assert session() is spark
        assert session() is spark
        yield server
        stop_posting(spark)
        stop_posting(spark)


def run(spark: "SparkSession", name: str, column: str, checkpoint: Path) -> BaseException | None:
    """Run a stream to its end; what ended it."""
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 7).load()
    writer = rows.selectExpr(column).writeStream.format("noop").queryName(name)
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    try:
        query.awaitTermination(60)
    except Exception as error:
        return error
    return None


def posts(server: Plane, name: str) -> list[tuple[str, Any]]:
    """All posts of a query, when its last one has come."""

    def of_query() -> list[tuple[str, Any]]:
        bodies = [(body["event"], body["query"]) for body in server.bodies]
        ids = {query["id"] for event, query in bodies if query.get("name") == name}
        return [(event, query) for event, query in bodies if query["id"] in ids]

    with server.more:
        assert server.more.wait_for(
            lambda: any(event == "terminated" for event, _ in of_query()), 60
        )
        return of_query()


def test_start_progress_and_end_of_a_stream_are_posted_once(
    spark: "SparkSession", posting_plane: Plane, tmp_path: Path
) -> None:
    assert run(spark, "rates", "value", tmp_path / "c") is None

    result = posts(posting_plane, "rates")
    assert [event for event, _ in result].count("started") == 1
    progress = next(query for event, query in result if event == "progress")
    assert progress["numInputRows"] >= 7
    assert "addBatch" in progress["durationMs"]
    assert [source["numInputRows"] for source in progress["sources"]] == [progress["numInputRows"]]
    assert {"startOffset", "endOffset", "description"} <= set(progress["sources"][0])
    assert progress["sink"]["description"]
    assert result[-1][1]["exception"] == ""
    assert posting_plane.tokens == {"Bearer t"}


def test_the_exception_of_a_query_is_posted(
    spark: "SparkSession", posting_plane: Plane, tmp_path: Path
) -> None:
    assert run(spark, "bad", "raise_error('no luck')", tmp_path / "c") is not None

    assert "no luck" in posts(posting_plane, "bad")[-1][1]["exception"]


def test_a_query_succeeds_although_the_broker_refuses_its_posts(
    spark: "SparkSession", posting_plane: Plane, tmp_path: Path
) -> None:
    posting_plane.status = 500

    assert run(spark, "refused", "value", tmp_path / "c") is None
    assert posts(posting_plane, "refused")


def test_a_program_without_url_and_token_posts_no_progress(spark: "SparkSession") -> None:
    from trio_kafka_spark.progress import post_progress

    assert not post_progress(spark)
