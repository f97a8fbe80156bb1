"""A StreamingQueryListener that posts each query's progress to the broker (see `posting`).

`trio_kafka_spark.session.session()` attaches it where the program is a child of the plugin
`pipelines`; a program with a session of its own calls `post_progress(spark)`.
"""

import json
import threading
from collections.abc import Mapping
from typing import Any, Final
from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from trio_kafka_spark.posting import Poster, poster_of

_OF_QUERY: Final = (
    "id",
    "name",
    "batchId",
    "numInputRows",
    "inputRowsPerSecond",
    "processedRowsPerSecond",
    "durationMs",
)
_OF_SOURCE: Final = ("description", "startOffset", "endOffset", "latestOffset", "numInputRows")
_LONGEST: Final = 4000  # characters of an exception
_LOCK: Final = threading.Lock()


class ProgressListener(StreamingQueryListener):
    """Posts events. Its methods return at once and raise nothing."""

    def __init__(self, poster: Poster) -> None:
        self._poster = poster

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        self._poster.post("started", {"id": str(event.id), "name": event.name})

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        try:
            progress = shorten(json.loads(event.progress.json))
        except (ValueError, TypeError, AttributeError):
            return  # another form of progress than the one that is known
        self._poster.post("progress", progress)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        self._poster.post("idle", {"id": str(event.id)})

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        query = {"id": str(event.id), "exception": (event.exception or "")[:_LONGEST]}
        self._poster.post("terminated", query)


_ATTACHED: Final[WeakKeyDictionary[SparkSession, ProgressListener]] = WeakKeyDictionary()


def shorten(progress: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a progress that the broker shows."""
    query = {name: progress[name] for name in _OF_QUERY if name in progress}
    query["sources"] = [
        {name: source[name] for name in _OF_SOURCE if name in source}
        for source in progress.get("sources", ())
    ]
    query["sink"] = {"description": progress.get("sink", {}).get("description", "")}
    return query


def post_progress(spark: SparkSession) -> bool:
    """Attach the listener to a session, once; whether this program is a child of a broker."""
    with _LOCK:
        if spark in _ATTACHED:
            return True
        poster = poster_of()
        if poster is None:
            return False
        listener = ProgressListener(poster)
        spark.streams.addListener(listener)
        _ATTACHED[spark] = listener
        return True


def stop_posting(spark: SparkSession) -> None:
    """Take the listener of `post_progress` off again. Idempotent."""
    with _LOCK:
        listener = _ATTACHED.pop(spark, None)
        if listener is not None:
            spark.streams.removeListener(listener)
