"""Queue of pending syncs of logs and directories, a few at a time.

New logs are synced in groups: no request waits for a single one of them, and one request may create
    thousands. The queue waits a little for more of them, as no file can be created while the
    journal is written.
"""

from collections.abc import Awaitable, Callable
from itertools import islice
from typing import Final, NoReturn

import trio

from trio_kafka.errors import KafkaError, LogDirError
from trio_kafka.introspect.declared_waits import waits_for_work
from trio_kafka.introspect.log import get_logger
from trio_kafka.log.durability.sync import sync
from trio_kafka.log.durability.sync_new_logs import is_empty, sync_new
from trio_kafka.log.log import Log

AT_ONCE: Final = 4  # each in a thread of its directory
NEW_AT_ONCE: Final = 256
NEW_AFTER_S: Final = 0.1
SyncNames = Callable[[], Awaitable[None]]  # bound to a directory; an error takes it offline
_logger: Final = get_logger(__name__)


class SyncQueue:
    """Pending syncs. Several run at a time: a long one delays no other (`flush.messages`)."""

    def __init__(self) -> None:
        self._waiting: dict[Log | SyncNames, None] = {}
        self._at_work: set[Log | SyncNames] = set()
        self._bell = trio.Event()
        self._new: dict[Log, None] = {}
        self._new_bell = trio.Event()

    def ask(self, target: Log | SyncNames) -> None:
        """Request one sync from now on: of a log, or of the names in a directory."""
        if isinstance(target, Log) and is_empty(target):
            self._new[target] = None
            self._new_bell.set()
        else:
            self._waiting[target] = None
            self._bell.set()

    def pending(self, is_there: Callable[[Log], bool]) -> int:
        """Return the number of requested syncs of logs that have not begun, for some logs."""
        logs = (target for target in (*self._waiting, *self._new) if isinstance(target, Log))
        return sum(map(is_there, logs))

    def forget(self, log: Log) -> None:
        """Drop the request of a log that was closed."""
        self._waiting.pop(log, None)
        self._new.pop(log, None)

    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Perform the requested syncs until cancelled."""
        async with trio.open_nursery() as nursery:
            for number in range(AT_ONCE):
                nursery.start_soon(self._sync_waiting, name=f"log-sync-{number}")
            nursery.start_soon(self._sync_new, name="log-sync-new")
            task_status.started()
            await trio.sleep_forever()

    async def _sync_waiting(self) -> NoReturn:
        while True:
            target = next((target for target in self._waiting if target not in self._at_work), None)
            if target is None:
                if self._bell.is_set():
                    self._bell = trio.Event()
                await self._bell.wait()
                continue
            del self._waiting[target]
            self._at_work.add(target)  # the task that syncs it checks again afterwards
            try:
                if isinstance(target, Log):
                    await sync_if_open(target)
                else:
                    await target()
            finally:
                self._at_work.remove(target)

    @waits_for_work("a file to sync")
    async def _sync_new(self) -> NoReturn:
        """Sync new logs in groups. Those that arrive meanwhile form the next group."""
        while True:
            await self._new_bell.wait()
            await trio.sleep(NEW_AFTER_S)
            logs = self._take_new()
            if not logs:
                self._new_bell = trio.Event()
                continue
            for log in await sync_new(logs):
                self._waiting[log] = None
                self._bell.set()

    def _take_new(self) -> list[Log]:
        """Take some new logs of one directory."""
        parent = next((log.unsynced.parent for log in self._new), None)
        siblings = (log for log in self._new if log.unsynced.parent is parent)
        logs = list(islice(siblings, NEW_AT_ONCE))
        for log in logs:
            del self._new[log]
        return logs


async def sync_if_open(log: Log) -> None:
    """Sync a log that may be closed or fail meanwhile."""
    if log.closed or log.failed:
        await trio.lowlevel.checkpoint()
        return
    try:
        await sync(log)
    except KafkaError:
        return  # deleted meanwhile: no task waits for it
    except LogDirError as error:
        _logger.warning("sync failed", partition=str(log.partition), reason=str(error))
