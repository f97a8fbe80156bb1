"""Transactions as users write them, and the task that adds partitions.

    async with producer.transaction() as transaction:
        await producer.send(record)
        await transaction.send_offsets({place: offset}, GroupMetadata(group_id="g"))

The end of the block commits. An exception or a cancellation of the block aborts, and so does a
record that failed: the block then raises AbortableError, and the next transaction can begin.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import NoReturn, TypeVar

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.errors import AbortableError, ClientError, FatalError, TimedOutError
from trio_kafka.clients.group_metadata import GroupMetadata
from trio_kafka.clients.producer.delivery import Delivery
from trio_kafka.clients.producer.receipt import wait_end
from trio_kafka.clients.producer.sequences import Identity
from trio_kafka.clients.producer.transactions.coordinator import OLD_PRODUCE, Coordinators
from trio_kafka.clients.producer.transactions.machine import (
    TransactionMachine,
    TransactionState,
    unknown_end,
)
from trio_kafka.model import TopicPartition

T = TypeVar("T")


@define(eq=False, kw_only=True)
class Transactions:
    """Transactions of a producer, one at a time. `add_partitions` is its task.

    block_s: `max.block.ms`, for each step that waits. wake: of the sender.
    _requests: held by each request about the open transaction, as the end must be the last one: an
    addition that overtook it would begin another transaction, which nothing would end.
    """

    machine: TransactionMachine
    coordinators: Coordinators
    delivery: Delivery
    block_s: float
    wake: Callable[[], None]
    to_add: trio.Event = field(factory=trio.Event, init=False)
    _turn: trio.Lock = field(factory=trio.Lock, init=False)
    _requests: trio.Lock = field(factory=trio.Lock, init=False)
    _is_new_protocol: bool = field(default=False, init=False)

    async def identify(self) -> None:
        """Get an id and a new epoch; fence other producers of the transactional id."""
        identities = self.machine.identities
        identity = await self._final(
            self.coordinators.identify(identities.current, timeout_s=self.block_s)
        )
        self._is_new_protocol = await self._final(
            self.coordinators.uses_new_protocol(timeout_s=self.block_s)
        )
        self.machine.identified(identity)

    @asynccontextmanager
    async def run(self) -> AsyncIterator["Transaction"]:
        """Run a transaction for the duration of the block. Others wait for their turn."""
        async with self._turn:
            if self.machine.state is TransactionState.UNKNOWN:
                await self.identify()
            self.machine.begin(is_new_protocol=self._is_new_protocol)
            try:
                yield Transaction(transactions=self)
                self.machine.begin_end()
                await self._flush()
            except BaseException:
                await self._abort()
                raise
            failure = self.machine.failure
            if failure is not None:
                await self._abort()
                raise AbortableError(f"the transaction was aborted: {failure}", place=failure.place)
            await self._commit()

    async def send_offsets(
        self, offsets: Mapping[TopicPartition, int], group: GroupMetadata
    ) -> None:
        """See `Transaction.send_offsets`."""
        async with self._requests:
            self.machine.check_open()
            if not offsets:  # a commit would be one of nothing, which the coordinator rejects
                return
            try:
                await self._final(self._send_offsets(offsets, group))
            except ClientError as error:
                self.machine.fail(error)
                raise

    async def _send_offsets(
        self, offsets: Mapping[TopicPartition, int], group: GroupMetadata
    ) -> None:
        machine, identity = self.machine, self._identity
        if not machine.is_new_protocol:
            with machine.adding():
                await self.coordinators.add_group(group.group_id, identity, timeout_s=self.block_s)
        machine.offsets_sent()
        await self.coordinators.send_offsets(
            offsets,
            group,
            identity,
            is_new_protocol=machine.is_new_protocol,
            timeout_s=self.block_s,
        )

    async def add_partitions(self) -> NoReturn:
        """Add partitions before batches are sent to them (older protocol), until cancelled."""
        while True:
            await self.to_add.wait()
            self.to_add = trio.Event()
            async with self._requests:
                places = set(self.machine.to_add)
                if not places:
                    continue
                await self._add(places)
            self.wake()

    async def _add(self, places: set[TopicPartition]) -> None:
        try:
            with self.machine.adding():
                await self._final(
                    self.coordinators.add(places, self._identity, timeout_s=self.block_s)
                )
        except ClientError as error:
            self.machine.fail(error)
        else:
            self.machine.added(places)

    @property
    def newest_produce(self) -> int | None:
        """Newest version of Produce in the protocol of the transaction; None: any."""
        return None if self.machine.is_new_protocol else OLD_PRODUCE

    def look(self) -> None:
        """Fail what waits, if the transaction has failed; else have partitions added."""
        if self.machine.failure is not None:
            self.delivery.fail_waiting(f"the transaction has failed: {self.machine.failure}")
        elif self.machine.to_add:
            self.to_add.set()

    @property
    def _identity(self) -> Identity:
        identity = self.machine.identities.current
        if identity is None:
            raise AbortableError("the producer has no id")
        return identity

    async def _flush(self) -> None:
        """Wait until all records of the transaction are stored or have failed.

        A cancellation that has come before is noticed here, also if there is nothing to wait for.
        """
        await trio.lowlevel.checkpoint()
        accumulator = self.delivery.accumulator
        accumulator.flushes += 1
        self.wake()
        try:
            for batch in list(accumulator.incomplete()):
                await wait_end(batch)
        finally:
            accumulator.flushes -= 1

    async def _commit(self) -> None:
        """Commit. Not cancelled: the answer decides what the user may rely on."""
        with trio.CancelScope(shield=True):  # `max.block.ms` bounds it
            try:
                await self._end(commits=True)
            except TimedOutError as error:
                raise unknown_end(self.machine.transactional_id, error) from error

    async def _abort(self) -> None:
        """Abort, within `max.block.ms` after a cancellation too.

        If the abort fails, the next transaction begins with a new epoch, which ends this one.
        """
        with trio.CancelScope(shield=True):
            self.machine.fail(AbortableError("the transaction is aborted"))
            self.machine.begin_end()
            self.delivery.fail_waiting("the transaction was aborted")
            with trio.move_on_after(self.block_s):
                await self._flush()
            try:
                await self._end(commits=False)
            except FatalError as error:
                self.delivery.fail_all(error)
            except ClientError:
                pass  # the state is UNKNOWN: see above

    async def _end(self, *, commits: bool) -> None:
        """End the transaction after the answers to all requests about it, if the broker knows."""
        machine = self.machine
        async with self._requests:
            if not machine.is_begun and not machine.may_be_begun:
                machine.ended(None)
                return
            try:
                identity = await self._final(self._ask_to_end(commits=commits))
            except BaseException:
                machine.lost()
                raise
            machine.ended(identity)

    async def _ask_to_end(self, *, commits: bool) -> Identity | None:
        """Return the identity for the next transaction, if it is a new one."""
        if self.machine.may_be_begun:  # a new epoch aborts what is open, and may find nothing
            return await self.coordinators.identify(self._identity, timeout_s=self.block_s)
        return await self.coordinators.end(
            self._identity,
            commits=commits,
            is_new_protocol=self.machine.is_new_protocol,
            timeout_s=self.block_s,
        )

    async def _final(self, call: Awaitable[T]) -> T:
        """Return the result of a call; a fatal error of it is that of the producer."""
        try:
            return await call
        except FatalError as error:
            self.delivery.fail_all(error)
            raise


@define(eq=False, kw_only=True)
class Transaction:
    """An open transaction."""

    transactions: Transactions

    async def send_offsets(
        self, offsets: Mapping[TopicPartition, int], group: GroupMetadata
    ) -> None:
        """Commit offsets of a group with the transaction. offsets: of the next records to read.

        Raises AbortableError, FatalError and TimedOutError; the transaction can only be aborted.
        """
        await self.transactions.send_offsets(offsets, group)
