"""Lists of epochs in a compacted topic: one key for each query, its value is the latest list.

The topic has one partition. A list is written in a transaction of an id that all runs of a query
have in common, so that beginning it fences every other run: between `fence` and the end of `append`
no other process adds a list of this query.
"""

import time
from collections.abc import Iterator
from typing import Final

import attrs
import pyarrow as pa

from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from trio_kafka.records.columnar import decode
from trio_kafka_spark.client.cluster import EARLIEST, LATEST, Cluster
from trio_kafka_spark.client.coordinator import Coordinator, Transaction
from trio_kafka_spark.client.errors import FencedError, SourceError
from trio_kafka_spark.client.fetch import fetch
from trio_kafka_spark.client.producer import Producer
from trio_kafka_spark.client.retry import rejected
from trio_kafka_spark.client.settings import ClientSettings
from trio_kafka_spark.sink.epochs import Epoch

# A driver that dies while it writes a list delays the other queries of the topic for so long.
LIST_TIMEOUT_MS: Final = 10_000
_CONFIGS: Final = {"cleanup.policy": "compact", "segment.bytes": str(16 << 20)}
_BROKERS_DEFAULT: Final = -1
_FIRST_WINDOW: Final = 64  # offsets; the list of a running query is among the last ones
_WIDER: Final = 16
_LARGEST_REQUEST: Final = 64 << 20  # the topic's max.message.bytes decides


class EpochLog:
    """The lists of one query. prefix: begin of the topic's name and of the common id."""

    def __init__(self, settings: ClientSettings, *, prefix: str, query: str) -> None:
        self.topic = f"{prefix}-epochs"
        self.transactional_id = f"{prefix}-epochs-{query}"
        self._query = query.encode()
        self._where = TopicPartition(self.topic, 0)
        # Ids of one run are nearly equal: a list of 10,000 tasks has 40 kB then.
        writing = attrs.evolve(
            settings.writing,
            compression="gzip",
            gzip_level=None,
            largest_request=_LARGEST_REQUEST,
        )
        self._settings = attrs.evolve(settings, writing=writing)

    def fence(self, coordinator: Coordinator) -> Transaction:
        """Stop every other run from adding a list; return the transaction of the next one."""
        return coordinator.init(self.transactional_id, LIST_TIMEOUT_MS)

    def last(self, coordinator: Coordinator) -> Epoch | None:
        """Return the latest list of the query; None: it has none.

        Waits for open transactions of other queries, which end within LIST_TIMEOUT_MS and the
        broker's interval of looking for them.
        """
        cluster = coordinator.cluster
        if self.topic not in cluster.topics([self.topic]):
            return None
        stop = cluster.offsets({self._where: LATEST})[self._where]
        first = cluster.offsets({self._where: EARLIEST})[self._where]
        committed = attrs.evolve(self._settings, read_committed=True)
        window = _FIRST_WINDOW
        with Cluster(committed) as reading:
            while stop > first:
                start = max(first, stop - window)
                values = list(self._values(reading, start, stop))
                if values:
                    return Epoch.from_bytes(values[-1])
                stop, window = start, window * _WIDER
        return None

    def append(self, coordinator: Coordinator, fence: Transaction, epoch: Epoch) -> None:
        """Make a list durable. Raises FencedError if another run has begun: nothing was added."""
        cluster = coordinator.cluster
        if self.topic not in cluster.topics([self.topic]):
            self._create(cluster)
        record = pa.RecordBatch.from_pydict({"key": [self._query], "value": [epoch.to_bytes()]})
        with Producer(self._settings, begin=lambda _: fence) as producer:
            producer.send(self._where, record)
            producer.flush()
        if not coordinator.end(fence, commit=True):
            raise FencedError.of(f"the list of epoch {epoch.number}")

    def _values(self, cluster: Cluster, start: int, stop: int) -> Iterator[bytes]:
        settings = cluster.settings
        for fetched in fetch(settings, self._where, start=start, stop=stop, cluster=cluster):
            for batch in decode(
                fetched.buffer,
                at=self._where,
                start=start,
                stop=stop,
                columns=("key", "value"),
                aborted=fetched.aborted,
            ):
                for key, value in zip(*map(pa.Array.to_pylist, batch.columns), strict=True):
                    if key == self._query and value is not None:
                        yield value

    def _create(self, cluster: Cluster) -> None:
        configs = [CreatableTopicConfig(name, value) for name, value in _CONFIGS.items()]
        topic = CreatableTopic(self.topic, 1, _BROKERS_DEFAULT, configs=configs)
        request = CreateTopicsRequest([topic], timeout_ms=self._settings.request_timeout_ms)
        [row] = cluster.ask_any(request).topics
        if row.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
            reason = f" ({row.error_message})" if row.error_message else ""
            raise rejected(f"CreateTopics of {self.topic}{reason}", row.error_code)
        deadline = time.monotonic() + self._settings.api_timeout_ms / 1000
        while self.topic not in cluster.topics([self.topic], create=True):
            if time.monotonic() > deadline:
                raise SourceError("KAFKA_UNAVAILABLE", f"topic {self.topic} has no leader")
