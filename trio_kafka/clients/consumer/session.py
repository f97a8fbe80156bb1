"""Fetch session with one broker (KIP-227): a request names only what has changed. Does no I/O.

Source: FetchSessionHandler of Apache Kafka 4.4.0.
"""

from typing import Final

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import ErrorCode
from trio_kafka.model import ZERO_TOPIC_ID, TopicPartition
from trio_kafka.protocol.messages.k01_fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
)

NO_SESSION: Final = 0
_FIRST: Final = 0  # epoch of a request that opens a session
_LAST: Final = -1  # epoch of a request that closes one
_LARGEST_EPOCH: Final = 0x7FFFFFFF
BY_NAME: Final = 12  # the newest version that names topics


@frozen
class FetchRow:
    """Request of a session for one partition."""

    topic_id: bytes
    offset: int
    leader_epoch: int
    max_bytes: int


@define(eq=False)
class FetchSession:
    """Session with one broker. rows: what is to be fetched.

    A request that was begun ends by `succeeded` or by `failed`.
    """

    rows: dict[TopicPartition, FetchRow] = field(factory=dict)
    session_id: int = NO_SESSION
    epoch: int = _FIRST
    _changes: dict[TopicPartition, None] = field(factory=dict)
    _sent: dict[TopicPartition, bytes] = field(factory=dict)  # what the broker has, by topic id
    _by_name: bool = False

    def set(self, at: TopicPartition, row: FetchRow | None) -> None:
        """Fetch a partition so from now on; None: no more."""
        if self.rows.get(at) == row:
            return
        if row is None:
            del self.rows[at]
        else:
            self.rows[at] = row
        self._changes[at] = None

    def request(self, template: FetchRequest) -> tuple[FetchRequest, int | None]:
        """Return the next request, and the newest version in which it may be sent.

        template: has the other fields.
        """
        by_name = self._by_name
        if self._changes or self.epoch == _FIRST:  # an idle consumer looks at no row
            by_name = any(row.topic_id == ZERO_TOPIC_ID for row in self.rows.values())
        if self.epoch == _FIRST or by_name != self._by_name:
            self.epoch, self._by_name = _FIRST, by_name
            names, forgotten = list(self.rows), []
            self._sent.clear()
        else:
            names = [at for at in self._changes if at in self.rows]
            forgotten = [
                (at, self._sent[at])
                for at in self._changes
                if at in self._sent and self._is_gone(at)
            ]
        for at, _ in forgotten:
            del self._sent[at]
        self._changes.clear()
        for at in names:
            self._sent[at] = self.rows[at].topic_id
        template.session_id, template.session_epoch = self.session_id, self.epoch
        template.topics = self._topics(names)
        template.forgotten_topics_data = _forgotten(forgotten)
        return template, BY_NAME if by_name else None

    def succeeded(self, session_id: int) -> None:
        """Take the id of a response without an error for the whole request."""
        if session_id == NO_SESSION:
            self.session_id, self.epoch = NO_SESSION, _FIRST
        elif self.epoch == _FIRST:
            self.session_id, self.epoch = session_id, 1
        else:
            self.epoch = self.epoch + 1 if self.epoch < _LARGEST_EPOCH else 1

    def failed(self, code: ErrorCode | None = None) -> None:
        """Note that a request has failed: the next one opens a new session.

        code: of the response; None: there was none.
        """
        if code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
            self.session_id = NO_SESSION
        self.epoch = _FIRST

    def close_request(self) -> FetchRequest | None:
        """Return the request that closes the session; None: there is none."""
        if self.session_id == NO_SESSION:
            return None
        request = FetchRequest(session_id=self.session_id, session_epoch=_LAST)
        self.session_id, self.epoch = NO_SESSION, _FIRST
        return request

    def _is_gone(self, at: TopicPartition) -> bool:
        """True if the broker must forget a row: also if the topic was created anew."""
        row = self.rows.get(at)
        return row is None or row.topic_id != self._sent[at]

    def _topics(self, names: list[TopicPartition]) -> list[FetchTopic]:
        topics: dict[tuple[str, bytes], FetchTopic] = {}
        for at in names:
            row = self.rows[at]
            key = at.topic, row.topic_id
            topic = topics.get(key)
            if topic is None:
                topic = topics[key] = FetchTopic(topic=at.topic, topic_id=row.topic_id)
            topic.partitions.append(
                FetchPartition(
                    partition=at.partition,
                    current_leader_epoch=row.leader_epoch,
                    fetch_offset=row.offset,
                    partition_max_bytes=row.max_bytes,
                )
            )
        return list(topics.values())


def _forgotten(rows: list[tuple[TopicPartition, bytes]]) -> list[ForgottenTopic]:
    topics: dict[tuple[str, bytes], list[int]] = {}
    for at, topic_id in rows:
        topics.setdefault((at.topic, topic_id), []).append(at.partition)
    return [
        ForgottenTopic(topic=name, topic_id=topic_id, partitions=partitions)
        for (name, topic_id), partitions in topics.items()
    ]
