"""Consumer for tests: given partitions, or the partitions that its group assigns to it."""

from collections.abc import Mapping, Sequence
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode
from trio_kafka.model import Endpoint, TopicPartition
from trio_kafka.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from trio_kafka.protocol.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from trio_kafka.testing.checkers.history import History
from trio_kafka.testing.clients.errors import AnswerError, check
from trio_kafka.testing.clients.link import Link
from trio_kafka.testing.clients.membership import REJOIN, Membership
from trio_kafka.testing.clients.reading import (
    EARLIEST,
    LATEST,
    Fetched,
    FetchedPartition,
    fetch,
    offset_for,
    partitions_of,
)
from trio_kafka.world.world import World

_COMMIT, _COMMITTED = 9, 9
_NO_POSITIONS: Final[Mapping[TopicPartition, int]] = {}


@define(eq=False, kw_only=True)
class Consumer:
    """Reads partitions in order of offsets; `poll` repeats its requests after failures.

    name: of its events in the history; also the client id.
    topics: all their partitions, or with `group` those that the group assigns.
    partitions: instead of topics; with `group` only its committed offsets are used.
    start: EARLIEST or LATEST: where to begin without a committed offset, and when the offset is out
        of range.
    read_committed: read only records of no transaction or of committed ones.
    session_s: without a `poll` for so long, the group removes the member.
    """

    world: World
    bootstrap: Endpoint
    name: str = "consumer"
    topics: Sequence[str] = ()
    partitions: Sequence[TopicPartition] = ()
    group: str | None = None
    start: int = EARLIEST
    read_committed: bool = False
    session_s: float = 10.0
    request_s: float = 5.0
    timeout_s: float = 120.0
    history: History | None = None
    positions: dict[TopicPartition, int] = field(factory=dict, init=False)
    link: Link = field(init=False)
    membership: Membership | None = field(default=None, init=False)
    _committed: dict[TopicPartition, int] = field(factory=dict, init=False)
    _started: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        if bool(self.topics) == bool(self.partitions):
            raise ValueError("want topics or partitions, and not both")
        if self.start not in {EARLIEST, LATEST}:
            raise ValueError(f"start={self.start}: want EARLIEST or LATEST")
        self.link = Link(
            world=self.world,
            bootstrap=self.bootstrap,
            client_id=self.name,
            request_s=self.request_s,
        )
        if self.group is not None and self.topics:
            self.membership = Membership(
                link=self.link,
                group=self.group,
                topics=self.topics,
                session_s=self.session_s,
                timeout_s=self.timeout_s,
            )

    async def __aenter__(self) -> "Consumer":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.link.close()

    async def close(self) -> None:
        """Leave the group and disconnect. The end of a block only disconnects."""
        if self.membership is not None:
            await self.membership.leave()
        self.link.close()

    async def poll(self, max_wait_s: float = 0.5) -> list[Fetched]:
        """Return the next records; none if there are none within `max_wait_s`.

        Raises GaveUpError after `timeout_s` of failures, AnswerError for those that do not pass.
        """
        await self._assigned()
        if not self.positions:
            await trio.sleep(max_wait_s)
            return []
        rows = await self.link.retry(lambda: self._fetch(max_wait_s), self.timeout_s)
        records = []
        for at, row in rows.items():
            if row.error is ErrorCode.OFFSET_OUT_OF_RANGE:
                await self._position({at: -1})
            elif at in self.positions:
                records += row.records
                self.positions[at] = row.end
        if self.history is not None:
            for record in records:
                self.history.read(
                    self.name,
                    record.topic,
                    record.partition,
                    record.value,
                    offset=record.offset,
                    group=self.group,
                )
        return records

    async def seek(self, topic: str, partition: int, offset: int) -> None:
        """Continue at an offset."""
        await self._assigned()
        await self._position({TopicPartition(topic, partition): offset})

    async def commit(self) -> bool:
        """Commit the positions that are not committed; return whether the group accepted them.

        False: the group is rebalancing or has removed the member; the next `poll` joins again.
        Raises GaveUpError, AnswerError as `poll`.
        """
        if self.group is None:
            raise ValueError("no group: nowhere to commit to")
        due = {at: n for at, n in self.positions.items() if self._committed.get(at) != n}
        if not due:
            return True
        try:
            await self.link.retry(lambda: self._commit(self.group or "", due), self.timeout_s)
        except AnswerError as error:
            if self.membership is None or error.code not in REJOIN:
                raise
            self.membership.lost(error.code)
            return False
        self._committed.update(due)
        return True

    async def committed(self) -> dict[TopicPartition, int]:
        """Return the committed offsets of the consumer's partitions; -1: none. Errors as `poll`."""
        if self.group is None:
            raise ValueError("no group: nothing is committed")
        group = self.group
        partitions = list(self.partitions or self.positions)
        return await self.link.retry(lambda: self._find(group, partitions), self.timeout_s)

    async def _assigned(self) -> None:
        """Join the group and find the positions, as far as necessary."""
        if self.membership is not None:
            if not await self.membership.keep():
                return
            partitions = self.membership.partitions or []
        elif self._started:
            return
        elif self.partitions:
            partitions = list(self.partitions)
        else:
            names = self.topics
            rows = await self.link.retry(lambda: partitions_of(self.link, names), self.timeout_s)
            partitions = [at for parts in rows.values() for at in parts]
        self.positions, self._committed = {}, {}
        if self.group is None or not partitions:
            offsets = dict.fromkeys(partitions, -1)
        else:
            group = self.group
            offsets = await self.link.retry(lambda: self._find(group, partitions), self.timeout_s)
            self._committed = {at: offset for at, offset in offsets.items() if offset >= 0}
        await self._position(offsets)
        self._started = True

    async def _position(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Continue at offsets; -1: at `start`."""
        for at, offset in offsets.items():
            place = offset
            if offset < 0:

                async def attempt(at: TopicPartition = at) -> int:
                    return await offset_for(self.link, at, self.start)

                place = await self.link.retry(attempt, self.timeout_s)
            self.positions[at] = place
            if self.history is not None:
                self.history.positioned(
                    self.name, at.topic, at.partition, offset=place, group=self.group
                )

    async def _fetch(self, max_wait_s: float) -> dict[TopicPartition, FetchedPartition]:
        rows = await fetch(
            self.link, self.positions, max_wait_s=max_wait_s, committed=self.read_committed
        )
        for row in rows.values():
            if row.error is not ErrorCode.OFFSET_OUT_OF_RANGE:
                check(row.error)
        return rows

    async def _find(
        self, group: str, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, int]:
        since = 0 if self.history is None else self.history.mark()
        topics = [
            OffsetFetchRequestTopics(name, partition_indexes=numbers)
            for name, numbers in _by_topic(dict.fromkeys(partitions, 0)).items()
        ]
        group_request = OffsetFetchRequestGroup(group, topics=topics)
        if self.membership is None:
            await Membership(link=self.link, group=group, topics=()).find()
        (answer,) = (
            await self.link.ask(OffsetFetchRequest(groups=[group_request]), _COMMITTED)
        ).groups
        check(answer.error_code)
        offsets = {}
        for topic in answer.topics:
            for row in topic.partitions:
                check(row.error_code)
                offsets[TopicPartition(topic.name, row.partition_index)] = row.committed_offset
        if self.history is not None:
            for at, offset in offsets.items():
                self.history.commit_found(group, at.topic, at.partition, offset=offset, since=since)
        return offsets

    async def _commit(self, group: str, due: Mapping[TopicPartition, int]) -> None:
        member = self.membership
        topics = [
            OffsetCommitRequestTopic(
                name,
                partitions=[
                    OffsetCommitRequestPartition(n, due[TopicPartition(name, n)], -1, "")
                    for n in numbers
                ],
            )
            for name, numbers in _by_topic(due).items()
        ]
        request = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=-1 if member is None else member.generation,
            member_id="" if member is None else member.member_id,
            topics=topics,
        )
        if self.history is not None:
            for at, offset in due.items():
                self.history.commit_sent(self.name, group, at.topic, at.partition, offset=offset)
        answer = await self.link.ask(request, _COMMIT)
        failed = 0
        for topic in answer.topics:
            for row in topic.partitions:
                failed = failed or row.error_code
                at = TopicPartition(topic.name, row.partition_index)
                if not row.error_code and self.history is not None:
                    self.history.committed(self.name, group, at.topic, at.partition, offset=due[at])
        check(failed)


def _by_topic(offsets: Mapping[TopicPartition, int]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for at in offsets:
        topics.setdefault(at.topic, []).append(at.partition)
    return topics
