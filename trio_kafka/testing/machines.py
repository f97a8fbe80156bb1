"""Driver of a coordinator's machine without a broker, in virtual time.

Effects are performed at once. Every record goes through its bytes, so a record that cannot be
stored fails here. `refuse` makes appends fail; `hold` delays commits, as replicas do. `reload()`
returns the machine that a broker would have after a crash, made of the records alone.
"""

import heapq
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any, Generic

from trio_kafka.attributes import define
from trio_kafka.coordinators.groups.stored_records import GROUP_RECORDS
from trio_kafka.coordinators.shards.effects import (
    CoordinatorRecord,
    Effects,
    EventResult,
    Origin,
    SetTimer,
    Ticket,
    TimerKey,
)
from trio_kafka.coordinators.shards.protocols import Event, M, Machine
from trio_kafka.coordinators.shards.record_codec import RecordCodec
from trio_kafka.errors import KafkaError
from trio_kafka.records.control import Marker
from trio_kafka.scheduling.chunked_work import whole


@define(eq=False)
class _Held:
    """Effects that wait for the commit of all records below `end`."""

    end: int
    effects: Effects


class MachineDriver(Generic[M]):
    """Drives one machine. answers: by ticket. log: records, as bytes. now_ms: virtual time."""

    def __init__(
        self,
        make: Callable[[], M],
        now_ms: int = 1_000_000,
        codec: RecordCodec = GROUP_RECORDS,
        *,
        decodes: bool = True,
    ) -> None:
        """codec: of the topic that the machine's records are in. decodes: replay what the bytes
        say; False: the records themselves, as a shard does, which may have more than their bytes.
        """
        self._make = make
        self._decodes = decodes
        self._codec = codec
        self.now_ms = now_ms
        self.machine = make()
        self.log: list[tuple[bytes, bytes | None]] = []
        # Replays of what was written, with the end of the log behind them: a marker is no record.
        self._history: list[tuple[int, Callable[[M], None]]] = []
        self.answers: dict[Ticket, object] = {}
        self.refuse: KafkaError | None = None
        self.hold = False
        self.committed_end = 0
        self._held: list[_Held] = []
        self._due: dict[TimerKey, tuple[int, int]] = {}
        self._heap: list[tuple[int, int, TimerKey]] = []
        self._order = count()
        self._tickets = count(1)
        self._perform(whole(self.machine.loaded(now_ms)))

    # Events

    def submit(self, event: Event[M]) -> Ticket:
        """Submit a request's event; its answer, if there is one yet, is in `answers`."""
        ticket = next(self._tickets)
        try:
            effects = _whole(event(self.machine, ticket, self.now_ms))
        except KafkaError as error:
            effects = Effects(answers=[(ticket, error)])
        self._perform(effects)
        return ticket

    def ask(self, event: Event[M]) -> Any:
        """Submit an event and return its answer, which must be there at once. Raises a
        KafkaError.
        """
        answer = self.answers[self.submit(event)]
        if isinstance(answer, KafkaError):
            raise answer
        return answer

    def apply(self, change: Callable[[M, int], EventResult]) -> None:
        """Submit an event without a request: a new image."""
        self._perform(_whole(change(self.machine, self.now_ms)))

    def advance(self, ms: int) -> None:
        """Let time pass; timers that are due fire in their order."""
        end = self.now_ms + ms
        while self._heap and self._heap[0][0] <= end:
            due, number, key = heapq.heappop(self._heap)
            if self._due.get(key) != (due, number):
                continue
            del self._due[key]
            self.now_ms = max(self.now_ms, due)
            self._perform(_whole(self.machine.timer(key, self.now_ms)))
        self.now_ms = end

    @property
    def timers(self) -> dict[TimerKey, int]:
        """Milliseconds until each timer is due, by key."""
        return {key: due - self.now_ms for key, (due, _) in self._due.items()}

    # The log

    @property
    def records(self) -> list[CoordinatorRecord]:
        """All records that were written."""
        return [self._codec.decode(key, value) for key, value in self.log]

    def commit(self) -> None:
        """Commit and answer everything that is written, and stop holding commits."""
        self.hold = False
        self.committed_end = len(self.log)
        held, self._held = self._held, []
        for entry in held:
            self._settle(entry.effects)

    def reload(self) -> "MachineDriver[M]":
        """Return a driver with a machine made of the committed records: timers start again, no
        request is pending.
        """
        kept = self.log[: self.committed_end]
        history = [entry for entry in self._history if entry[0] <= self.committed_end]

        def replayed() -> M:
            machine = self._make()
            for _, replay in history:
                replay(machine)
            return machine

        driver = MachineDriver(replayed, self.now_ms, self._codec, decodes=self._decodes)
        driver._make = self._make
        driver.log = [*kept, *driver.log]
        driver._history = [*history, *driver._history]
        driver.committed_end = len(driver.log)
        return driver

    # Performing

    def _perform(self, effects: Effects) -> None:
        for timer in effects.timers:
            if isinstance(timer, SetTimer):
                if timer.keep and timer.key in self._due:
                    continue
                entry = (self.now_ms + timer.delay_ms, next(self._order))
                self._due[timer.key] = entry
                heapq.heappush(self._heap, (*entry, timer.key))
            else:
                self._due.pop(timer.key, None)
        if (effects.records or effects.origin) and self.refuse is not None:
            self._fail(effects, self.refuse)
            return
        for record in effects.records:
            stored = self._codec.encode(record)
            self.log.append(stored)
            replay = partial(self._replay, stored, effects.origin)
            self._write(replay, replays=effects.replays and self._decodes)
            if effects.replays and not self._decodes:
                self.machine.replay(record)
        if effects.origin is not None and effects.origin.marker is not None:
            self._write(partial(_end, effects.origin.producer_id, effects.origin.marker))
        if self.hold:
            self._held.append(_Held(len(self.log), effects))
        else:
            self.committed_end = len(self.log)
            self._settle(effects)

    def _write(self, replay: Callable[[M], None], *, replays: bool = True) -> None:
        self._history.append((len(self.log), replay))
        if replays:
            replay(self.machine)

    def _replay(
        self, stored: tuple[bytes, bytes | None], origin: Origin | None, machine: M
    ) -> None:
        record = self._codec.decode(*stored)
        if origin is None:
            machine.replay(record)
        else:
            machine.replay_transactional(origin.producer_id, record)

    def _fail(self, effects: Effects, error: KafkaError) -> None:
        if effects.refused is not None:
            self._perform(effects.refused(error, self.now_ms))
        else:
            for ticket, _ in effects.answers:
                self._answer(ticket, error)

    def _settle(self, effects: Effects) -> None:
        for ticket, value in effects.answers:
            self._answer(ticket, value)
        if effects.committed is not None:
            self._perform(effects.committed(self.now_ms))

    def _answer(self, ticket: Ticket, value: object) -> None:
        if ticket in self.answers:
            raise AssertionError(f"ticket {ticket} is answered twice")
        self.answers[ticket] = value


def _end(producer_id: int, marker: Marker, machine: Machine) -> None:
    whole(machine.end_transaction(producer_id, committed=marker.committed))


def _whole(effects: EventResult) -> Effects:
    return effects if isinstance(effects, Effects) else whole(effects)
