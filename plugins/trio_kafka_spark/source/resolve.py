"""From positions that options give to offsets that the cluster has, of the assigned partitions.

Each question is asked again after a failure, as fetchOffset.numRetries and .retryIntervalMs say:
topics may be created or deleted at the same time.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from trio_kafka.attributes import frozen
from trio_kafka.model import TopicPartition
from trio_kafka_spark.client.cluster import Cluster
from trio_kafka_spark.client.errors import (
    NOT_ALLOWED,
    NOT_AUTHENTICATED,
    OptionError,
    SourceError,
    UnknownTopicError,
)
from trio_kafka_spark.source.offsets import EARLIEST, LATEST, Offsets, listed
from trio_kafka_spark.source.options import At, Position, ReadOptions

log: Final = logging.getLogger(__name__)
T = TypeVar("T")

OFFSETS_MISMATCH: Final = "KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED"
TIMES_MISMATCH: Final = "KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED"
_FINAL: Final = (OFFSETS_MISMATCH, TIMES_MISMATCH, NOT_ALLOWED, NOT_AUTHENTICATED)


@frozen(kw_only=True)
class Resolver:
    """Questions about the partitions of one read."""

    options: ReadOptions
    cluster: Cluster
    sleep: Callable[[float], None] = time.sleep

    def assigned(self, *, all_named: bool) -> set[TopicPartition]:
        """Return the partitions that the options choose, as they are now.

        all_named: raise UnknownTopicError where a topic of `subscribe` or `assign` does not exist.
            False: leave it out, as one that was deleted.
        """
        topics = self.options.topics
        topics_of = self.cluster.topics(topics.named or None)
        unknown = [name for name in topics.named if name not in topics_of]
        if unknown and all_named:
            option = "subscribe" if topics.names else "assign"
            raise UnknownTopicError(
                unknown[0],
                f"topic {unknown[0]} does not exist; create it, or correct option {option}",
            )
        return topics.chosen(topics_of)

    def position(self, position: Position, *, starting: bool) -> Offsets:
        """Return the offset at which each assigned partition starts or ends; -2 and -1 may remain.

        Raises SourceError where the options name other partitions than those that are assigned.
        """
        return self._retried(lambda: self._position(position, starting=starting))

    def _position(self, position: Position, *, starting: bool) -> Offsets:
        assigned = self.assigned(all_named=True)
        if position.at in (At.EARLIEST, At.LATEST):
            return dict.fromkeys(assigned, EARLIEST if position.at is At.EARLIEST else LATEST)
        if position.at is At.OFFSETS:
            self._check_same(
                OFFSETS_MISMATCH, offsets="offsets", position=position, assigned=assigned
            )
            return dict(position.numbers)
        if position.at is At.TIMESTAMPS:
            self._check_same(
                TIMES_MISMATCH,
                offsets=f"{'starting' if starting else 'ending'} timestamps",
                position=position,
                assigned=assigned,
            )
            times = position.numbers
        else:
            times = dict.fromkeys(assigned, position.timestamp)
        return self._by_time(times, starting=starting)

    def _check_same(
        self, condition: str, *, offsets: str, position: Position, assigned: set[TopicPartition]
    ) -> None:
        if position.numbers.keys() != assigned:
            raise SourceError(
                condition,
                f"the options give {offsets} of {listed(position.numbers)}, but the partitions to "
                f"read are {listed(assigned)}; name each of them once (-1: latest, -2: earliest)",
            )

    def _by_time(self, times: Mapping[TopicPartition, int], *, starting: bool) -> Offsets:
        offsets = self.cluster.offsets(times)
        none_so_late = sorted(tp for tp, offset in offsets.items() if offset < 0)
        if none_so_late and starting and not self.options.latest_if_no_match:
            tp = none_so_late[0]
            raise OptionError(
                "startingOffsetsByTimestampStrategy",
                f"no record of {tp} is as late as timestamp {times[tp]}; set it to latest to "
                "start at the end of such partitions",
            )
        return {tp: LATEST if offset < 0 else offset for tp, offset in offsets.items()}

    def resolved(self, offsets: Mapping[TopicPartition, int]) -> Offsets:
        """Replace -2 and -1 by the earliest and the latest offset of their partitions."""
        open_ones = {tp: offset for tp, offset in offsets.items() if offset < 0}
        if not open_ones:
            return dict(offsets)
        return {**offsets, **self._retried(lambda: self.cluster.offsets(open_ones))}

    def latest(self, before: Mapping[TopicPartition, int]) -> Offsets:
        """Return the end of each assigned partition. Deleted topics are left out.

        before: offsets that were there before. An end below them, or a partition that is gone, is
        asked for again: a broker may lag behind. What the last attempt finds is returned.
        """
        for attempt in range(1, self.options.offset_attempts + 1):
            ends = self._retried(self._latest)
            behind = {tp for tp, offset in before.items() if ends.get(tp, -1) < offset}
            if not behind or attempt == self.options.offset_attempts:
                break
            log.warning("latest offsets went back, or are gone: %s", listed(behind))
            self.sleep(self.options.offset_retry_s)
        return ends

    def _latest(self) -> Offsets:
        assigned = self.assigned(all_named=False)
        return self._offsets_of(assigned, LATEST)

    def earliest(self, partitions: Iterable[TopicPartition]) -> Offsets:
        """Return the first offset of those of `partitions` that still exist."""
        existing = set(partitions)
        if not existing:
            return {}
        return self._retried(
            lambda: self._offsets_of(existing & self.assigned(all_named=False), EARLIEST)
        )

    def since(self, partitions: Iterable[TopicPartition], timestamp: int) -> Offsets:
        """Return the first offset of a record at or after `timestamp`; -1: there is none."""
        times = dict.fromkeys(partitions, timestamp)
        return self._retried(lambda: self.cluster.offsets(times)) if times else {}

    def _offsets_of(self, partitions: set[TopicPartition], which: int) -> Offsets:
        return self.cluster.offsets(dict.fromkeys(partitions, which)) if partitions else {}

    def _retried(self, ask: Callable[[], T]) -> T:
        attempts = self.options.offset_attempts
        for attempt in range(1, attempts + 1):
            try:
                return ask()
            except SourceError as error:
                if attempt == attempts or error.condition in _FINAL:
                    raise
                log.warning("offsets asked for again after attempt %d: %s", attempt, error)
                self.sleep(self.options.offset_retry_s)
        raise AssertionError(f"{attempts} attempts")  # the last one raises
