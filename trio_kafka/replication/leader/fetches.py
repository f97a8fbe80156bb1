"""Fetches of all clients: begun in a session, answered at once or parked.

A parked Fetch holds no bytes. It completes after a mark of one of its partitions, or at its
deadline, and in slices if it is wide. Cold partitions are read in threads meanwhile.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NoReturn

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.pending import Eventual, Work, work_or_value
from trio_kafka.purgatory import Delayed, Purgatory
from trio_kafka.replication.leader.cold_reads import ColdReads
from trio_kafka.replication.leader.fetch import WIDE, WIDE_BESIDE, Fetch, FetchAnswer, FetchLimits
from trio_kafka.replication.leader.read import PartitionFetch
from trio_kafka.replication.leader.session_cache import SessionCache
from trio_kafka.replication.leader.sessions import FINAL_EPOCH, FIRST_EPOCH, NO_SESSION, FetchKey
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.table import Replicas
from trio_kafka.scheduling.chunked_work import Steps, whole
from trio_kafka.scheduling.yield_point import YieldPoint

Resolve = Callable[[FetchKey], Partition]
COLD_WAIT_S: Final = 1.0  # time for a read from the disk, whatever the timeout of a fetch


def readable(replicas: Replicas, may_read: Callable[[str], bool]) -> Resolve:
    """Return a function that finds a partition for a client that may not read every topic.

    may_read: asked once for each topic's name. An unknown topic id has none to ask for.
    The function raises KafkaError: TOPIC_AUTHORIZATION_FAILED; as `Replicas.resolve`.
    """
    decisions: dict[str, bool] = {}

    def resolve(key: FetchKey) -> Partition:
        topic = key[0]
        name = topic if isinstance(topic, str) else replicas.image.topic_names.get(topic)
        if name is not None:
            if name not in decisions:
                decisions[name] = may_read(name)
            if not decisions[name]:
                raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        return replicas.resolve(key)

    return resolve


def readable_by_none(key: FetchKey) -> NoReturn:
    """Raise KafkaError(TOPIC_AUTHORIZATION_FAILED), as for a follower without permission."""
    del key
    raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)


@define(eq=False, kw_only=True)
class Fetches:
    """Fetches. replicas: where partitions are found. purgatory: where they wait."""

    replicas: Replicas
    purgatory: Purgatory
    sessions: SessionCache
    cold: ColdReads
    yield_point: YieldPoint = field(factory=YieldPoint)

    def begin(
        self,
        partitions: Mapping[FetchKey, PartitionFetch],
        limits: FetchLimits,
        *,
        session_id: int = NO_SESSION,
        session_epoch: int = FINAL_EPOCH,
        forget: Sequence[FetchKey] = (),
        uses_ids: bool = True,
        resolve: Resolve | None = None,
    ) -> Eventual[FetchAnswer]:
        """Begin one Fetch. Return its answer, or a Pending of it: Work for many partitions.

        wanted, forget: partitions that the request adds, changes and drops.
        resolve: returns a partition for this client, or raises KafkaError; None: all may be read.
        A session error is an answer (`FetchAnswer.error`).
        """
        now = trio.current_time()
        try:
            session = self.sessions.poll(
                session_id,
                session_epoch,
                partitions,
                forget,
                uses_ids=uses_ids,
                privileged=limits.follower is not None,
                now=now,
            )
        except KafkaError as error:
            return FetchAnswer(session_id=NO_SESSION, error=error.as_value())
        full = session_epoch <= FIRST_EPOCH or session.id == NO_SESSION
        wide = WIDE_BESIDE if self.yield_point.bound else WIDE
        fetch = Fetch(session, limits, resolve or self.replicas.resolve, full=full, wide=wide)
        if fetch.is_wide:
            return Work(self._fetching(fetch, now))
        answer = whole(fetch.look())
        return self._park(fetch, now) if answer is None else answer

    def _fetching(self, fetch: Fetch, now: float) -> Steps[Eventual[FetchAnswer]]:
        answer = yield from fetch.look()
        return self._park(fetch, now) if answer is None else answer

    def _park(self, fetch: Fetch, now: float) -> Delayed[FetchAnswer]:
        """Make a Delayed of a fetch that waits. A wide one completes in slices, too."""

        # Quoted, as an annotation would be evaluated for each request.
        def try_complete(timed_out: bool) -> "Eventual[FetchAnswer] | None":
            if not fetch.is_due(timed_out):
                return None
            return work_or_value(fetch.complete(), is_long=fetch.is_wide)

        wait_s = fetch.limits.max_wait_s
        if fetch.cold:
            wait_s = max(wait_s, COLD_WAIT_S)
        delayed: Delayed[FetchAnswer] = Delayed(
            fetch.keys, now + wait_s, try_complete, self.purgatory, fetch
        )
        if fetch.session.id:
            fetch.session.waiting = delayed
        if fetch.cold:
            self.cold.submit(fetch, delayed)
        return delayed
