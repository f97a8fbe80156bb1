"""Writer: the current state of the controller, and the only way to change it.

`present` is the state with all appended records, committed or not. A decision and its append are
one change. Changes are made one after the other, in order, so nothing happens between what a
decision reads and its append. A topic may have 10,000 partitions, so records are made, replayed and
encoded in slices. Until the batch is appended, none of it is visible. Between decisions there is a
checkpoint after 64 records or a millisecond: a check of a broker's settings may take several.
"""

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

import trio

from trio_kafka.controller.bootstrap import level_in
from trio_kafka.controller.decision import Decision
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.features import METADATA_VERSION
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.metadata.names import collision_key
from trio_kafka.metadata.replay import replay
from trio_kafka.metadata.source import MetadataRecord, MetadataSource
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.security.acls.entries import Acl, acl_of

T = TypeVar("T")

_SLICE: Final = 16  # records in one step, of 10 µs each, or 60 µs with a change of leader
_UNPAUSED: Final = 64  # records of several decisions without a checkpoint
_UNPAUSED_S: Final = 0.001  # for several decisions without a checkpoint: few take as long
_NAMES: Final = 1000  # names in one step
_DECISION: Final = 8  # cost of a decision itself, in records
_NOT_ACTIVE: Final = "this node is not the active controller"


def collision_keys_of(names: Iterable[str]) -> Steps[dict[str, str]]:
    """Return names of topics by their `collision_key`."""
    collision_keys: dict[str, str] = {}
    for number, name in enumerate(names, 1):
        collision_keys[collision_key(name)] = name
        if not number % _NAMES:
            yield
    return collision_keys


class Writer:
    """Writer of one controller, active while it has an image. epoch: -1 while it is not active.

    collision_keys: names of all topics by their `collision_key`. acls: ids of all access control
        entries.
    """

    def __init__(self, source: MetadataSource) -> None:
        self.epoch = -1
        self.collision_keys: dict[str, str] = {}
        self.acls: dict[Acl, bytes] = {}
        self._source = source
        self._image: MetadataImage | None = None
        self._lock = trio.Lock()
        self._unpaused = 0
        self._unpaused_s = 0.0

    @property
    def active(self) -> bool:
        return self._image is not None

    @property
    def present(self) -> MetadataImage:
        """Current state. Raises KafkaError(NOT_CONTROLLER) while not active."""
        if self._image is None:
            raise KafkaError(ErrorCode.NOT_CONTROLLER, _NOT_ACTIVE)
        return self._image

    def take_over(
        self,
        epoch: int,
        image: MetadataImage,
        collision_keys: dict[str, str],
        acls: dict[Acl, bytes],
    ) -> None:
        """Continue from an image, in a new epoch. collision_keys, acls: those of the image."""
        self.epoch = epoch
        self._image = image
        self.collision_keys = collision_keys
        self.acls = acls

    def resign(self) -> None:
        """Stop writing."""
        self._image = None
        self.epoch = -1

    async def write(
        self, decide: Callable[[], Decision[T]], validate_only: bool = False
    ) -> tuple[T, int]:
        """Decide and append; return the result, and the offset from which it is true.

        Other calls wait meanwhile, in order. If cancelled before the append, nothing has changed.
        Has no checkpoint if few records are written and no other call waits: call `pause` after.
        Raises KafkaError: that of `decide`, NOT_CONTROLLER, RECORD_LIST_TOO_LARGE.
        """
        try:
            self._lock.acquire_nowait()
        except trio.WouldBlock:
            await self._lock.acquire()
        try:
            self._unpaused += _DECISION
            began = trio.current_time()
            try:
                decision = decide()
            finally:
                self._unpaused_s += trio.current_time() - began
            if not validate_only:
                await self._append(decision.records)
            return decision.result, self.present.offset
        finally:
            self._lock.release()

    async def pause(self) -> None:
        """Have a checkpoint between decisions if it is due."""
        if self._unpaused >= _UNPAUSED or self._unpaused_s >= _UNPAUSED_S:
            self._unpaused = 0
            self._unpaused_s = 0.0
            await trio.lowlevel.checkpoint()

    async def _append(self, records: Iterable[MetadataRecord | None]) -> None:
        old = self.present
        level = old.features.get(METADATA_VERSION)
        if not level:
            first = [record for record in records if record is not None]
            records, level = first, level_in(first)
        delta = MetadataDelta(old)
        batch = self._source.batch(level)
        count = 0
        for record in records:
            if record is not None:
                replay(delta, record)
                batch.add(record)
                count += 1
            if record is None or not count % _SLICE:
                await trio.lowlevel.checkpoint()
        if not count:
            return
        self._unpaused += count
        await self._source.wait_writable()
        if self._image is not old:  # this node resigned meanwhile
            raise KafkaError(ErrorCode.NOT_CONTROLLER, _NOT_ACTIVE)
        end = batch.append(self.epoch)
        self._image = delta.apply(end, self.epoch, old.timestamp_ms)
        for name in delta.deleted_topics.values():
            self.collision_keys.pop(collision_key(name), None)
        for topic in delta.topics.values():
            self.collision_keys[collision_key(topic.name)] = topic.name
        for acl_id, acl in delta.acls.items():
            old_acl = old.acls.get(acl_id)
            if old_acl is not None:
                self.acls.pop(acl_of(old_acl), None)
            if acl is not None:
                self.acls[acl_of(acl)] = acl_id
