"""Cache of fetch sessions, with a bounded number of slots (KIP-227).

If all slots are taken, a session unused for two minutes is evicted. Otherwise the cheapest
    evictable one goes, if the new session is worth more: followers more than consumers, many
    partitions more than few. A young session of a consumer is safe from other consumers, one of a
    follower from all. Finding a victim costs a pass over all slots.
Memory is bounded by the partitions of all sessions together. If a new session does not fit, even
    without those unused for two minutes, it is not created: its client names all partitions in each
    fetch. A session that grows beyond the bound ends.
A session keeps at most `MOST_UNKNOWN` partitions that do not exist. Clients name a partition again
only when it changes, so a session that forgot one would hide the topic when it is created. A new
session with more is not created. One that grows so ends with FETCH_SESSION_ID_NOT_FOUND, and its
client names all partitions in its next fetch.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Figures
from trio_kafka.replication.leader.read import PartitionFetch
from trio_kafka.replication.leader.sessions import (
    FINAL_EPOCH,
    FIRST_EPOCH,
    NO_SESSION,
    FetchKey,
    Session,
    next_epoch,
)

EVICTABLE_AFTER_S: Final = 120.0
MOST_PARTITIONS: Final = 250_000  # of all sessions: some 95 MiB
MOST_UNKNOWN: Final = 1000  # partitions of one session that do not exist
MOST_AT_ONCE: Final = 5000  # partitions that a private session takes in when it is made
_IDS: Final = (1 << 31) - 1

Attach = Callable[[Hashable, Session], None]


@define(eq=False)
class SessionCache:
    """Sessions by id, the least recently used first.

    slots: max.incremental.fetch.session.cache.slots. draw: World's `random.randrange`.
    most_partitions: bound of all sessions together. exists: returns whether a partition exists.
    """

    slots: int
    _draw: Callable[[int, int], int]
    _attach: Attach
    _detach: Attach
    _most_partitions: int = field(default=MOST_PARTITIONS, kw_only=True)
    _exists: Callable[[FetchKey], bool] = field(default=lambda _: True, kw_only=True)
    evictions: int = field(default=0, init=False)
    _sessions: dict[int, Session] = field(factory=dict, init=False)
    _partitions: int = field(default=0, init=False)  # of all sessions

    def __len__(self) -> int:
        return len(self._sessions)

    def poll(
        self,
        session_id: int,
        epoch: int,
        partitions: Mapping[FetchKey, PartitionFetch],
        forget: Sequence[FetchKey],
        *,
        uses_ids: bool,
        privileged: bool,
        now: float,
    ) -> Session:
        """Return the session of a request: an existing one, a new one, or a private one
            (NO_SESSION).

        privileged: of a follower. now: `trio.current_time()`.
        Raises KafkaError: FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH,
        FETCH_SESSION_TOPIC_ID_ERROR.
        """
        if epoch in (FIRST_EPOCH, FINAL_EPOCH):
            if session_id != NO_SESSION:
                self.remove(session_id)
            if (
                epoch == FINAL_EPOCH
                or self._has_many_unknown(partitions)
                or not self._make_room(privileged, len(partitions), now)
            ):
                return self._private(partitions, uses_ids)
            return self._begin(partitions, uses_ids, privileged, now)
        session = self._sessions.get(session_id)
        if session is None:
            raise KafkaError(
                ErrorCode.FETCH_SESSION_ID_NOT_FOUND, f"no session {session_id}, begin a new one"
            )
        if session.epoch != epoch:
            raise KafkaError(
                ErrorCode.INVALID_FETCH_SESSION_EPOCH, f"epoch {epoch}, want {session.epoch}"
            )
        if session.uses_ids != uses_ids:
            raise KafkaError(
                ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
                "a session names its topics by id or by name, not both",
            )
        before = len(session.partitions)
        new = {key: ask for key, ask in partitions.items() if key not in session.partitions}
        if new and self._has_many_unknown(session.partitions, new):
            self.remove(session_id)
            raise KafkaError(
                ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
                f"more than {MOST_UNKNOWN} partitions that do not exist, name all of them",
            )
        session.update(partitions, forget)
        self._partitions += len(session.partitions) - before
        if self._partitions > self._most_partitions:
            self.remove(session_id)
            self.evictions += 1
            raise KafkaError(
                ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
                "more partitions than all sessions may have, fetch without one",
            )
        if not session.partitions:
            self.remove(session_id)
            return self._private(partitions, uses_ids)
        session.epoch = next_epoch(session.epoch)
        session.used = now
        self._sessions[session_id] = self._sessions.pop(session_id)
        return session

    def request_of(self, session_id: int, key: FetchKey) -> PartitionFetch | None:
        """Return what a session wants of a partition; None: unknown."""
        session = self._sessions.get(session_id)
        partition = None if session is None else session.partitions.get(key)
        return None if partition is None else partition.request

    def keys_of(self, session_id: int) -> list[FetchKey]:
        """Return the partitions of a session; none if it is unknown."""
        session = self._sessions.get(session_id)
        return [] if session is None else list(session.partitions)

    def remove(self, session_id: int) -> None:
        """End a session. Idempotent."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._partitions -= len(session.partitions)
            session.close()

    def figures(self) -> Figures:
        return {
            "sessions": len(self._sessions),
            "slots": self.slots,
            "partitions": self._partitions,
            "most_partitions": self._most_partitions,
            "dirty": sum(len(session.dirty) for session in self._sessions.values()),
            "evictions": self.evictions,
        }

    def _private(self, partitions: Mapping[FetchKey, PartitionFetch], uses_ids: bool) -> Session:
        session = Session(uses_ids=uses_ids, attach=self._attach, detach=self._detach)
        if len(partitions) > MOST_AT_ONCE:
            session.rest = partitions
        else:
            session.update(partitions, [])
        return session

    def _begin(
        self,
        partitions: Mapping[FetchKey, PartitionFetch],
        uses_ids: bool,
        privileged: bool,
        now: float,
    ) -> Session:
        session_id = NO_SESSION
        while session_id == NO_SESSION or session_id in self._sessions:
            session_id = self._draw(1, _IDS)
        session = Session(
            id=session_id,
            privileged=privileged,
            uses_ids=uses_ids,
            created=now,
            used=now,
            epoch=next_epoch(FIRST_EPOCH),
            end=partial(self.remove, session_id),
            attach=self._attach,
            detach=self._detach,
        )
        session.update(partitions, [])
        self._sessions[session_id] = session
        self._partitions += len(session.partitions)
        return session

    def _has_many_unknown(self, *named: Mapping[FetchKey, object]) -> bool:
        """Return whether more than MOST_UNKNOWN partitions do not exist.

        Existence is checked only if there are many partitions.
        """
        if sum(map(len, named)) <= MOST_UNKNOWN:
            return False
        room = MOST_UNKNOWN
        for key in chain(*named):
            if not self._exists(key):
                room -= 1
                if room < 0:
                    return True
        return False

    def _make_room(self, privileged: bool, size: int, now: float) -> bool:
        if self._partitions + size > self._most_partitions:
            self._drop_unused(now)
            if self._partitions + size > self._most_partitions:
                return False
        if len(self._sessions) < self.slots:
            return True
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None:
            return False
        if now - oldest.used <= EVICTABLE_AFTER_S:
            victims = [s for s in self._sessions.values() if self._may_go(s, privileged)]
            if not victims:
                return False
            oldest = min(victims, key=_worth)
            if (privileged, size, 0) < _worth(oldest):
                return False
        self.remove(oldest.id)
        self.evictions += 1
        return True

    def _drop_unused(self, now: float) -> None:
        """End every session that was not used for two minutes."""
        unused = []
        for session in self._sessions.values():  # the least recently used first
            if now - session.used <= EVICTABLE_AFTER_S:
                break
            unused.append(session.id)
        for session_id in unused:
            self.remove(session_id)
        self.evictions += len(unused)

    def _may_go(self, session: Session, for_privileged: bool) -> bool:
        old = session.used - session.created > EVICTABLE_AFTER_S
        return old or (for_privileged and not session.privileged)


def _worth(session: Session) -> tuple[bool, int, int]:
    return session.privileged, len(session.partitions), session.id
