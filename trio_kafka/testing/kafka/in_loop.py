"""A Kafka broker under test, driven from its own Trio loop."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from typing import Any, TypeVar

import trio

from trio_kafka.broker import RunningBroker
from trio_kafka.controls.api_names import ApiName
from trio_kafka.controls.clock import clock_of_loop, move_clock
from trio_kafka.controls.controls import Controls
from trio_kafka.controls.faults import Fault, FaultRule
from trio_kafka.controls.groups import delete_group, describe_group, list_groups
from trio_kafka.controls.interceptors import Around, Interceptor
from trio_kafka.controls.keywords import suggesting, suggesting_methods
from trio_kafka.controls.topics import (
    NOT_THERE,
    compact_topic,
    create_topic,
    delete_records,
    delete_topic,
    describe_topic,
    find_topic,
)
from trio_kafka.controls.transactions import describe_transaction, list_transactions
from trio_kafka.controls.values import (
    Bytes,
    Group,
    Record,
    StoredRecord,
    Topic,
    Transaction,
    shown,
)
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import TopicImage
from trio_kafka.periodic_jobs import JobRun, JobStatus
from trio_kafka.testing.kafka.access import ClientConfig
from trio_kafka.testing.kafka.broker_warnings import kept_warnings
from trio_kafka.testing.kafka.jobs import RETENTION, run_job
from trio_kafka.testing.kafka.latest_requests import LatestRequests
from trio_kafka.testing.kafka.life import Lifecycle, LifeSettings, running_lives
from trio_kafka.testing.kafka.machines import Machine
from trio_kafka.testing.kafka.records import produce, read_records
from trio_kafka.testing.kafka.releases import Release, find_release
from trio_kafka.testing.kafka.transactions import KitTransactions
from trio_kafka.testing.kafka.users import store_access
from trio_kafka.testing.kafka.waiting import TIMEOUT_S, wait_for, wait_until

__tracebackhide__ = True  # pytest ends the traceback of a failed test where it calls the kit

T = TypeVar("T")
_TO_THE_END = -1
_EXISTS = ErrorCode.TOPIC_ALREADY_EXISTS


@suggesting_methods
class KafkaInLoop:
    """A broker under test: its state, its lives, its time, its faults. Use `kafka_in_loop`.

    controls: fault rules, coroutines, recorded requests, limits of versions; they go on over lives.
    latest_requests, warnings: the latest ones, for the report of a failed test.
    kit_transactions: open ones, which `produce` has begun.

    Methods raise KafkaError with Kafka's code where a request fails, and NotRunningError while the
    broker is stopped or killed.
    """

    def __init__(self, lives: Lifecycle, warnings: Collection[str] = ()) -> None:
        self._lives = lives
        self.warnings = warnings
        self.latest_requests = LatestRequests()
        self.latest_requests.attach(lives.broker)
        self.controls = Controls(lives.broker, seed=lives.how.seed)
        self.kit_transactions = KitTransactions()

    @property
    def broker(self) -> RunningBroker:
        """The running broker. Raises NotRunningError."""
        return self._lives.broker

    @property
    def is_running(self) -> bool:
        return self._lives.is_running

    @property
    def bootstrap(self) -> str:
        """Address for clients, as host:port; the same after a restart. Raises NotRunningError."""
        return self.broker.bootstrap

    def client_config(
        self, user: str | None = None, *, client: str = "confluent_kafka"
    ) -> ClientConfig:
        """Return the settings with which a client reaches the broker, its address among them.

        user: one of `users`; without such, whom the client's certificate names, with `tls=True`.
        client: the library: confluent_kafka, aiokafka, kafka_python or trio_kafka.
        Raises ValueError for an unknown library, or a user that cannot be. NotRunningError.
        """
        return self._lives.how.access.client_config(self.bootstrap, user, client=client)

    async def look(self, read: Callable[[RunningBroker], T]) -> T:
        """Return what a plain function reads from the running broker, called in its loop."""
        await trio.lowlevel.checkpoint()
        return read(self.broker)

    # --- life

    async def start(self) -> None:
        """Start the broker again, on its files and its port. Raises StartError."""
        await self._lives.start()
        self.controls.attach(self.broker)
        self.latest_requests.attach(self.broker)

    async def stop(self) -> None:
        """Stop the broker in order; what it stored stays."""
        await self._lives.stop()

    async def kill(self, *, power: bool = False) -> None:
        """End the broker at once, as `kill -9` does; what it had written stays.

        power: as a power loss: what was not synced to disk is lost. Only with files in memory.
        """
        await self._lives.kill(power=power)

    async def restart(self) -> None:
        """Stop the broker in order and start it again."""
        await self.stop()
        await self.start()

    @property
    def release(self) -> Release | None:
        """Release of Kafka that the broker acts as; None: the newest."""
        return self._lives.how.release

    async def as_version(self, release: str | None) -> None:
        """Restart the broker as an older release of Kafka, such as "3.9"; None: as the newest.

        Clients see its APIs, their versions, and its features. Records and groups stay.
        Raises UnknownReleaseError.
        """
        self._lives.how.release = None if release is None else find_release(release)
        await self.restart()

    # --- time

    async def advance(
        self,
        *,
        seconds: float = 0,
        minutes: float = 0,
        hours: float = 0,
        hold: bool | None = None,
    ) -> int:
        """Move the broker's clock, wall and monotonic, one deadline at a time.

        Tasks that a deadline wakes run, and threads finish, before the next one. Periodic jobs and
        compactions that became due, or ran before, have ended when this returns. Returns the
        number of deadlines that were met. A periodic job that finds nothing to do runs once.
        Clients stay connected; their own clocks do not move. A record of theirs that is written
        after a move is as old as the clock has been moved since.
        hold: keep connections, long polls and the sessions of connected members alive, although
            they are silent meanwhile. None: for more than 10 s.
        Raises ValueError for a time below 0, ClockError in a loop whose clock cannot be moved,
        TimeoutError if the work at one deadline does not end within 60 s.
        """
        total = seconds + 60 * minutes + 3600 * hours
        if not self.is_running:
            return await clock_of_loop().advance(total)
        return await move_clock(self.broker, total, hold)

    async def reset_clock(self) -> None:
        """Let the broker's wall clock show real time again, as before the first `advance`.

        What has happened stays. The monotonic clock, which deadlines use, does not step back.
        Raises ClockError as `advance`, RuntimeError while the clock is being moved.
        """
        await trio.lowlevel.checkpoint()
        clock_of_loop().reset_wall()

    # --- periodic jobs

    async def jobs(self) -> list[JobStatus]:
        """Return the periodic jobs of the broker, by name."""
        await trio.lowlevel.checkpoint()
        return self.broker.parts.scheduler.statuses

    async def run_job(self, name: str) -> JobRun:
        """Run a periodic job now, such as "kafka-log-retention", and wait for its end.

        Raises UnknownJobError, JobFailedError.
        """
        return await run_job(self.broker, name)

    async def apply_retention(self) -> None:
        """Delete old segments, as `retention.ms` and `retention.bytes` of the topics say.

        The clock is not moved: see `advance` for that. Raises JobFailedError.
        """
        await run_job(self.broker, RETENTION)
        await self.broker.parts.cleaner.apply_all_retention()

    # --- topics and records

    async def create_topic(
        self,
        name: str,
        partitions: int = 1,
        configs: Mapping[str, str] | None = None,
        *,
        exist_ok: bool = False,
    ) -> None:
        """Create a topic; it has leaders when this returns.

        exist_ok: accept one that exists already, with as many partitions.
        Raises KafkaError(TOPIC_ALREADY_EXISTS).
        """
        try:
            await create_topic(self.broker, name, partitions, configs=configs or {})
        except KafkaError as error:
            if not exist_ok or error.code is not _EXISTS:
                raise
        await self._wait_for_leaders(name)
        count = len(self._topic(name).partitions)
        if exist_ok and count != partitions:
            raise KafkaError(_EXISTS, f"{name} has {count} partitions, not {partitions}")

    async def delete_topic(self, name: str) -> None:
        await delete_topic(self.broker, name)

    async def compact(self, topic: str) -> None:
        """Compact a topic now, all that was produced so far, whatever its settings say.

        Only the last record of each key stays. A tombstone stays for `delete.retention.ms` after
        the first call: move the clock and call again to remove it.
        Raises KafkaError(POLICY_VIOLATION) for a topic without `cleanup.policy=compact`.
        """
        await compact_topic(self.broker, self._topic(topic))

    async def topics(self) -> list[str]:
        """Return the names of all topics but Kafka's internal ones, sorted."""
        await trio.lowlevel.checkpoint()
        return sorted(name for name in self.broker.metadata.image.topics if name[:2] != "__")

    async def topic(self, name: str) -> Topic:
        """Return a topic with the offsets of its partitions."""
        return await describe_topic(self.broker, self._topic(name))

    async def produce(
        self, topic: str, *records: Record | Bytes, transactional_id: str | None = None
    ) -> list[StoredRecord]:
        """Append records, and return them as stored. A bytes, str or None is a value.

        A topic that does not exist is created with `num.partitions`.
        transactional_id: append in a transaction, which begins with the first call for this id and
            lasts until `commit` or `abort`. It fences other producers of the id.
        """
        if find_topic(self.broker, topic) is None:
            try:
                await create_topic(
                    self.broker, topic, self.broker.config.num_partitions, configs={}
                )
            except KafkaError as error:  # meanwhile another task or a client may have created it
                if error.code is not _EXISTS:
                    raise
        await self._wait_for_leaders(topic)  # a client may just be creating it
        transaction = None
        if transactional_id is not None:
            transaction = await self.kit_transactions.begin(self.broker, transactional_id)
        with nullcontext() if transaction is None else self.kit_transactions.using(transaction):
            return await produce(self.broker, self._topic(topic), records, transaction)

    async def records(
        self,
        topic: str,
        *,
        partition: int | None = None,
        start: int | None = None,
        committed: bool = False,
    ) -> list[StoredRecord]:
        """Return the records that consumers can read, by partition and offset.

        partition: None: all. start: first offset; None: the first of each partition.
        committed: only what consumers with `isolation.level=read_committed` can read.
        """
        image = self._topic(topic)
        partitions: Iterable[int] = image.partitions if partition is None else [partition]
        return await read_records(self.broker, image, partitions, start=start, committed=committed)

    async def delete_records(
        self, topic: str, *, before: int | None = None, partition: int | None = None
    ) -> dict[int, int]:
        """Delete the records before an offset; None: all. Return the first offsets.

        partition: None: all partitions.
        """
        image = self._topic(topic)
        partitions: Iterable[int] = image.partitions if partition is None else [partition]
        offset = _TO_THE_END if before is None else before
        return await delete_records(self.broker, image, dict.fromkeys(partitions, offset))

    # --- groups

    async def groups(self) -> list[Group]:
        """Return all groups, sorted by id."""
        return await list_groups(self.broker)

    async def group(self, group_id: str) -> Group:
        """Return a group; one that does not exist has the state Dead."""
        return await describe_group(self.broker, group_id)

    async def delete_group(self, group_id: str) -> None:
        """Delete a group without members, with its committed offsets."""
        await delete_group(self.broker, group_id)

    # --- transactions

    async def commit(self, transactional_id: str) -> None:
        """Commit the transaction that `produce` has begun; readers soon see its records.

        Raises KafkaError(INVALID_TXN_STATE) if there is none.
        """
        await self.kit_transactions.end(self.broker, transactional_id, commit=True)

    async def abort(self, transactional_id: str) -> None:
        """Abort the transaction that `produce` has begun. Errors as `commit`."""
        await self.kit_transactions.end(self.broker, transactional_id, commit=False)

    async def transactions(self) -> list[Transaction]:
        """Return all transactional ids with their states, sorted by id."""
        return await list_transactions(self.broker)

    async def transaction(self, transactional_id: str) -> Transaction:
        """Return the state of a transactional id; one that does not exist has the state Dead."""
        return await describe_transaction(self.broker, transactional_id)

    # --- faults

    def fault(self, rule: FaultRule | None = None, /, **fields: Any) -> Fault:
        """Add a fault rule, or one of these fields. Raises RuleError."""
        return self.controls.faults.add(FaultRule(**fields) if rule is None else rule)

    def on(self, api: ApiName | None = None) -> Callable[[Around], Interceptor]:
        """Declare a coroutine that is called for each request of an API; None: for all requests.

        Raises UnknownApiError.
        """
        return self.controls.interceptors.on(api)

    # --- waiting

    async def wait_until(
        self,
        condition: Callable[[], bool] | Callable[[], Awaitable[bool]],
        *,
        what: str = "the condition",
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Check a condition every 5 ms until it holds. It may await methods of this broker.

        Raises NotReachedError after `timeout_s`.
        """
        await wait_until(condition, description=what, timeout_s=timeout_s)

    async def wait_for_group(
        self,
        group_id: str,
        *,
        state: str | None = None,
        members: int | None = None,
        lag: int | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> Group:
        """Wait until a group has a state, a number of members, a total lag of at most `lag`.

        Raises NotReachedError, with the group as it is then.
        """
        conditions = {"state": state, "members": members, "lag": lag}
        expected = ", ".join(
            f"{key} {value}" for key, value in conditions.items() if value is not None
        )
        return await wait_for(
            partial(self.group, group_id),
            lambda group: group.matches(state, members, lag),
            unread=Group(group_id=group_id, state="unknown"),
            failure=lambda group: f"{expected}: not reached within {timeout_s:g} s: {group}",
            timeout_s=timeout_s,
        )

    async def wait_for_transaction(
        self, transactional_id: str, state: str, *, timeout_s: float = TIMEOUT_S
    ) -> Transaction:
        """Wait until a transactional id has a state, such as "CompleteCommit".

        Raises NotReachedError, with the transaction as it is then.
        """
        return await wait_for(
            partial(self.transaction, transactional_id),
            lambda transaction: transaction.state == state,
            unread=Transaction(transactional_id=transactional_id, state="unknown"),
            failure=lambda last: f"state {state}: not reached within {timeout_s:g} s: {last}",
            timeout_s=timeout_s,
        )

    async def wait_for_records(
        self, topic: str, count: int, *, committed: bool = False, timeout_s: float = TIMEOUT_S
    ) -> list[StoredRecord]:
        """Wait until a topic has at least `count` records, and return them.

        committed: see `records`. Raises NotReachedError, with the records.
        """

        async def read() -> list[StoredRecord]:
            try:
                return await self.records(topic, committed=committed)
            except KafkaError as error:  # it is being created, or deleted
                if error.code not in NOT_THERE:
                    raise
                return []

        def failure(records: list[StoredRecord]) -> str:
            summary = f"{topic} has {len(records)} records, not {count}, after {timeout_s:g} s"
            return "\n".join([summary, *shown(records)])

        return await wait_for(
            read,
            lambda records: len(records) >= count,
            unread=[],
            failure=failure,
            timeout_s=timeout_s,
        )

    async def _wait_for_leaders(self, name: str) -> None:
        def has_leaders() -> bool:
            topic = find_topic(self.broker, name)  # None: another task has just created it
            return topic is not None and all(
                partition.leader >= 0 for partition in topic.partitions.values()
            )

        await self.wait_until(has_leaders, what=f"leaders of {name}")

    def _topic(self, name: str) -> TopicImage:
        image = find_topic(self.broker, name)
        if image is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}")
        return image


@suggesting
@asynccontextmanager
async def kafka_in_loop(
    machine: Machine,
    how: LifeSettings | None = None,
    topics: Mapping[str, int] | Iterable[str] = (),
) -> AsyncIterator[KafkaInLoop]:
    """Run a broker on a machine for the block.

    topics: created at the start, unless they exist: names, or names with numbers of partitions.
    Raises StartError, ConfigError. A failure of the broker cancels the block and is raised.
    """
    with kept_warnings() as warnings:
        async with running_lives(machine, how or LifeSettings()) as lives:
            await store_access(lives.broker, lives.how.access)
            kafka = KafkaInLoop(lives, warnings.lines)
            counts = topics if isinstance(topics, Mapping) else dict.fromkeys(topics, 1)
            for name, partitions in counts.items():
                await kafka.create_topic(name, partitions, exist_ok=True)
            yield kafka
