"""A cluster as one client sees it: metadata, leaders, and requests that are retried until answered.

Metadata is kept for the topics that were asked for, and asked again when it is old, or when a
broker says that it is not the leader any more. One connection to each broker, opened on first use.
Not safe for several threads at once; nothing here is pickled.
"""

import ssl
import time
from collections.abc import Callable, Collection, Mapping
from types import TracebackType
from typing import Final, Self, TypeVar

from trio_kafka.errors import ErrorCode
from trio_kafka.model import ZERO_TOPIC_ID, Endpoint, TopicPartition
from trio_kafka.peers.session import Handshake, Request
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from trio_kafka.protocol.schema import message_of
from trio_kafka_spark.client.connection import BrokerConnectionError, Connection, login_of
from trio_kafka_spark.client.errors import UnknownTopicError
from trio_kafka_spark.client.metadata import Metadata, PartitionLeader, Topic
from trio_kafka_spark.client.offsets import find_offsets
from trio_kafka_spark.client.retry import Attempts, is_retriable, named, rejected
from trio_kafka_spark.client.settings import ClientSettings

A = TypeVar("A")  # class of an answer

EARLIEST: Final = -2
LATEST: Final = -1
# A topic that brokers do not know yet, or no longer: about 2.5 s with the default back-off.
UNKNOWN_TOPIC_ATTEMPTS: Final = 5


class Cluster:
    """Connections and metadata; a context manager, which closes the connections at its end.

    All methods raise SourceError, or a kind of it, once retries are over, and OptionError for
    security options that cannot be used on this machine.
    """

    def __init__(self, settings: ClientSettings) -> None:
        self.settings = settings
        self._connections: dict[Endpoint, Connection] = {}
        self._spares: dict[Endpoint, Connection] = {}
        self._metadata = Metadata()
        self._tls: ssl.SSLContext | None = None
        self._login: Callable[[], Handshake] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections. Idempotent; the cluster can be used again."""
        for connection in (*self._connections.values(), *self._spares.values()):
            connection.close()
        self._connections.clear()
        self._spares.clear()

    def topics(
        self, names: Collection[str] | None = None, *, create: bool = False
    ) -> dict[str, list[int]]:
        """Partitions of these topics, in order; topics that do not exist are absent.

        names: None for all topics, without internal ones if `exclude.internal.topics` is true, the
        default. create: ask the broker to create what is missing, as producers do, and wait until
        it has leaders.
        """
        if names is not None and not names:
            return {}
        timeout_ms = self.settings.writing.max_block_ms if create else self.settings.api_timeout_ms
        attempts = self._attempts("Metadata", timeout_ms)
        while True:
            topics = self._ask_metadata(names, attempts, create=create)
            wait = None if names is None else _to_wait_for(topics, create=create)
            if wait is None:
                break
            attempts.failed(wait)
        return {
            topic.name: sorted(topic.partitions)
            for topic in topics
            if topic.error == 0 and (names is not None or not self._is_excluded(topic))
        }

    def _is_excluded(self, topic: Topic) -> bool:
        return topic.is_internal and self.settings.exclude_internal_topics

    def offsets(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """An offset of each partition, by EARLIEST, LATEST or a time in ms.

        LATEST is the last stable offset where `isolation.level` is read_committed. A time finds
        the first record that is not older; -1 in the answer: there is none.
        """
        return find_offsets(self, times)

    def leader_of(self, tp: TopicPartition) -> PartitionLeader:
        """Leader, epoch and topic id of a partition, by metadata that may be old.

        Raises UnknownTopicError, after some attempts.
        """
        attempts = self._attempts(f"Metadata of {tp}", self.settings.api_timeout_ms)
        unknown = 0
        while True:
            leader = self._metadata.leader_of(tp, self.settings.metadata_max_age_ms)
            if leader is None:
                self._ask_metadata([tp.topic], attempts, create=False)
                leader = self._metadata.leader_of(tp)
            if leader is not None and leader.error == 0:
                return leader
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if leader is None else leader.error
            if leader is not None and not is_retriable(code):
                raise rejected(f"Metadata of topic {tp.topic}", code)
            if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                unknown += 1
                if unknown == UNKNOWN_TOPIC_ATTEMPTS:
                    raise UnknownTopicError(
                        tp.topic,
                        f"topic {tp.topic} has no partition {tp.partition}, or does not exist;"
                        " check its name, or whether it was deleted",
                    )
            self._metadata.forget(tp.topic)
            attempts.failed(named(code))

    def leader(self, tp: TopicPartition, *, idle: bool = False) -> Connection:
        """A connection to the leader of a partition, opened if need be. One attempt.

        idle: one with nothing in flight, a second one if need be. Raises BrokerConnectionError;
        the metadata of the topic is then asked again next time.
        """
        endpoint = self.leader_of(tp).endpoint
        try:
            return self.connection(endpoint, idle=idle)
        except BrokerConnectionError:
            self._metadata.forget(tp.topic)
            raise

    def forget(self, topic: str) -> None:
        """Ask for the topic's metadata again before its next use: a leader has changed."""
        self._metadata.forget(topic)

    def ask_any(
        self, request: Request[A], *, timeout_ms: int | None = None, at_most: int | None = None
    ) -> A:
        """The answer of any broker: one that is connected, that is known, or a bootstrap one.

        at_most: highest version that the caller has the data for.
        """
        name = message_of(type(request)).name
        attempts = self._attempts(name, timeout_ms or self.settings.api_timeout_ms)
        return self._ask_any(request, attempts, at_most=at_most)

    def brokers(self) -> tuple[Endpoint, ...]:
        """Addresses of all brokers, asked anew."""
        self._ask_metadata([], self._attempts("Metadata", self.settings.api_timeout_ms))
        return self._metadata.endpoints

    def connection(self, endpoint: Endpoint, *, idle: bool = False) -> Connection:
        """The connection to a broker, opened if need be. Raises BrokerConnectionError.

        idle: one with nothing in flight; a second one is opened where the first one is busy.
        """
        connection = self._of(self._connections, endpoint)
        return self._of(self._spares, endpoint) if idle and connection.waiting else connection

    def drop(self, connection: Connection) -> None:
        """Close a connection that broke, or with an answer in flight that is not wanted."""
        for connections in (self._connections, self._spares):
            if connections.get(connection.endpoint) is connection:
                del connections[connection.endpoint]
        connection.close()

    def _of(self, connections: dict[Endpoint, Connection], endpoint: Endpoint) -> Connection:
        connection = connections.get(endpoint)
        if connection is not None and connection.expired and not connection.waiting:
            self.drop(connection)
            connection = None
        if connection is None:
            if self._login is None:
                self._login = login_of(self.settings)
            connection = Connection(endpoint, self.settings, self._context(), self._login)
            connections[endpoint] = connection
        return connection

    def _context(self) -> ssl.SSLContext | None:
        if self._tls is None and self.settings.security.uses_tls:
            from trio_kafka_spark.client.tls import context_of  # noqa: PLC0415 - cryptography

            self._tls = context_of(self.settings.security.tls)
        return self._tls

    def _attempts(self, request: str, timeout_ms: int) -> Attempts:
        return Attempts(settings=self.settings, request=request, timeout_ms=timeout_ms)

    def _ask_any(self, request: Request[A], attempts: Attempts, *, at_most: int | None = None) -> A:
        reason: object = None
        while True:
            for endpoint in self._candidates():
                try:
                    connection = self.connection(endpoint, idle=True)
                except BrokerConnectionError as error:
                    reason = error
                    continue
                try:
                    return connection.ask(request, at_most=at_most)
                except BrokerConnectionError as error:
                    self.drop(connection)
                    reason = error
            attempts.failed(reason)

    def _candidates(self) -> list[Endpoint]:
        """Brokers in the order in which they are asked: those that are connected come first."""
        rest = [*self._metadata.endpoints, *self.settings.bootstrap]
        return list(dict.fromkeys([*self._connections, *rest]))

    def _ask_metadata(
        self, names: Collection[str] | None, attempts: Attempts, *, create: bool = False
    ) -> list[Topic]:
        topics = None
        if names is not None:
            topics = [MetadataRequestTopic(ZERO_TOPIC_ID, name) for name in sorted(set(names))]
        request = MetadataRequest(topics, allow_auto_topic_creation=create)
        while True:
            answer: MetadataResponse = self._ask_any(request, attempts)
            if not answer.error_code:
                return self._metadata.learn(answer, time.monotonic())
            if not is_retriable(answer.error_code) and (
                answer.error_code != ErrorCode.REBOOTSTRAP_REQUIRED
            ):
                raise rejected("Metadata", answer.error_code)
            self.close()
            self._metadata = Metadata()
            attempts.failed(named(answer.error_code))


def _to_wait_for(topics: list[Topic], *, create: bool) -> str | None:
    """Why these topics are asked for again: brokers are still electing, or creating."""
    for topic in topics:
        code = topic.error
        if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and not create:
            continue
        if code and not is_retriable(code):
            raise rejected(f"Metadata of topic {topic.name}", code)
        if code:
            return f"topic {topic.name}: {named(code)}"
        if create and any(partition.error for partition in topic.partitions.values()):
            return f"topic {topic.name}: a partition has no leader"
    return None
