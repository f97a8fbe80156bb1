"""Commits of offsets, and reading of committed ones, with retries inside a deadline."""

from collections.abc import Callable, Collection, Mapping
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.consumer.groups.coordinator import Coordinator
from trio_kafka.clients.consumer.groups.offsets import (
    COMMIT_BY_NAME,
    FETCH_BY_NAME,
    FETCH_ONE_GROUP,
    MemberIdentity,
    commit_codes,
    commit_request,
    committed_offsets,
    fetch_code,
    fetch_request,
    older_fetch,
)
from trio_kafka.clients.consumer.values import OffsetAndMetadata
from trio_kafka.clients.errors import (
    ClientError,
    CommitFailedError,
    Place,
    RebalanceInProgressError,
    RetriableError,
    TimedOutError,
    UnsupportedError,
    client_error,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchResponse

Offsets = Mapping[TopicPartition, OffsetAndMetadata]
# The group does not know the member in this epoch: other members may have its partitions.
GONE: Final = frozenset(
    {
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.FENCED_MEMBER_EPOCH,
    }
)
_LOST: Final = "the member has lost its partitions, the offsets are not committed"
_REBALANCES: Final = "the group rebalances: commit again after the next read"
# The heartbeat that tells the member of its new epoch, or of its end, is on its way.
_PASSING: Final = frozenset({ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID})


@define(eq=False, kw_only=True)
class Commits:
    """Committed offsets of one group.

    identity: returns how the member signs at the moment; None: it is no member any more.
    is_joining: returns True while the member joins a classic group: the coordinator would answer a
    commit only behind the join, which may take minutes.
    stable: read only offsets that no transaction is about to change.
    has_epochs: the group is one of KIP-848: reads are signed too, and a stale epoch passes.
    failed, done: counts of commits. watchers: called with offsets that were committed.
    """

    coordinator: Coordinator
    identity: Callable[[], MemberIdentity | None]
    is_joining: Callable[[], bool]
    stable: bool
    has_epochs: bool = False
    watchers: list[Callable[[Offsets], None]] = field(factory=list, init=False)
    done: int = field(default=0, init=False)
    failed: int = field(default=0, init=False)
    last_failure: ClientError | None = field(default=None, init=False)

    async def commit(self, offsets: Offsets, *, timeout_s: float) -> None:
        """Commit offsets.

        Raises CommitFailedError if the member has lost its partitions, RebalanceInProgressError if
        it may commit after the next read, TimedOutError and other RetriableErrors,
        AuthorizationError, ClientError. `sent` says whether a broker may have stored them.
        """
        if not offsets:
            await trio.lowlevel.checkpoint()
            return
        deadline, attempt, sent = trio.current_time() + timeout_s, 0, False
        while True:
            try:
                await self._commit(offsets, deadline)
            except ClientError as error:
                sent = error.sent = sent or error.sent
                again = isinstance(error, RetriableError)
                again = again and not isinstance(error, RebalanceInProgressError)
                attempt += 1
                pause_s = self._pause_s(attempt)
                if not again or trio.current_time() + pause_s >= deadline:
                    self._note_failure(error)
                    raise
                await trio.sleep(pause_s)
            else:
                self.done += 1
                for watcher in self.watchers:
                    watcher(offsets)
                return

    async def _commit(self, offsets: Offsets, deadline: float) -> None:
        await trio.lowlevel.checkpoint()
        identity = self.identity()
        if identity is None:
            raise CommitFailedError(_LOST)
        if self.is_joining():
            raise RebalanceInProgressError(_REBALANCES)
        request = commit_request(self.coordinator.group, identity, offsets)
        response = await self.coordinator.ask(
            request, timeout_s=self._timeout_s(deadline), at_most=COMMIT_BY_NAME
        )
        for at, code in commit_codes(response).items():
            if not code:
                continue
            self.coordinator.check(code)
            place = Place(topic=at.topic, partition=at.partition)
            if code is ErrorCode.STALE_MEMBER_EPOCH and self.has_epochs:
                raise RetriableError("the epoch of the member is changing", place=place, code=code)
            if code is ErrorCode.REBALANCE_IN_PROGRESS:
                raise RebalanceInProgressError(_REBALANCES, place=place, code=code)
            if code in GONE:
                raise CommitFailedError(_LOST, place=place, code=code)
            raise client_error(code, "the offset is not committed", place=place)

    async def committed(
        self, partitions: Collection[TopicPartition], *, timeout_s: float
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return the committed offsets of partitions, None where there is none.

        Raises TimedOutError, AuthorizationError, ClientError.
        """
        deadline, attempt = trio.current_time() + timeout_s, 0
        while True:
            try:
                return await self._committed(partitions, deadline)
            except RetriableError as error:
                attempt += 1
                pause_s = self._pause_s(attempt)
                if trio.current_time() + pause_s >= deadline:
                    reason = f"no committed offsets within {timeout_s:g} s: {error}"
                    raise TimedOutError(reason, place=error.place) from error
                await trio.sleep(pause_s)

    async def _committed(
        self, partitions: Collection[TopicPartition], deadline: float
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        member = self.identity() if self.has_epochs else None
        if member is not None and not member.member_id:
            member = None
        request = fetch_request(
            self.coordinator.group, partitions, stable=self.stable, member=member
        )
        response = await self._fetch(request, deadline)
        code = fetch_code(response)
        if code:
            self.coordinator.check(code)
            if code in _PASSING and member is not None:
                raise RetriableError("the epoch of the member is changing", code=code)
            raise client_error(code, f"offsets of group {self.coordinator.group!r}")
        offsets: dict[TopicPartition, OffsetAndMetadata | None] = {}
        for at, row in committed_offsets(response).items():
            if row.code:
                place = Place(topic=at.topic, partition=at.partition)
                if row.code is ErrorCode.UNSTABLE_OFFSET_COMMIT:
                    raise RetriableError("a transaction is open", place=place, code=row.code)
                raise client_error(row.code, place=place)
            offsets[at] = row.offset
        return offsets

    async def _fetch(self, request: OffsetFetchRequest, deadline: float) -> OffsetFetchResponse:
        """Ask in the newest form that the coordinator knows."""
        ask = self.coordinator.ask
        try:
            timeout_s = self._timeout_s(deadline)
            return await ask(request, timeout_s=timeout_s, at_most=FETCH_BY_NAME)
        except UnsupportedError:
            older = older_fetch(request)
        try:
            timeout_s = self._timeout_s(deadline)
            return await ask(older, timeout_s=timeout_s, at_most=FETCH_ONE_GROUP)
        except UnsupportedError:
            older.require_stable = False  # Kafka before 2.5 cannot say that one is pending
            timeout_s = self._timeout_s(deadline)
            return await ask(older, timeout_s=timeout_s, at_most=FETCH_ONE_GROUP)

    def _note_failure(self, error: ClientError) -> None:
        self.failed += 1
        self.last_failure = error

    def _timeout_s(self, deadline: float) -> float:
        remaining_s = max(deadline - trio.current_time(), 0.0)
        return min(remaining_s, self.coordinator.client.settings.request_timeout_s)

    def _pause_s(self, attempt: int) -> float:
        client = self.coordinator.client
        return client.settings.retry_backoff.pause_s(attempt, client.world.random.random())
