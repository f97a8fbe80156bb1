"""A classic group in one flat class, to hold the machine to: what each event does, told once more.

It has no records and no tickets; only who is in, who waits, what is due, and what one is told.
"""

from itertools import count

from attrs import define

from trio_kafka.errors import ErrorCode

NONE, UNKNOWN = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID
NEW_MS = 300_000


@define
class MemberModel:
    """A member. has_generation: it has been told a generation."""

    session_ms: int
    rebalance_ms: int
    says: str
    instance: str | None
    joins: bool = True
    syncs: bool = False
    has_generation: bool = False
    has: bool = False  # an assignment


class Model:
    """due: (time, order) by what is due: a member's session (its id), `join` or `sync`."""

    def __init__(self, now_ms: int, delay_ms: int, max_size: int) -> None:
        self.now, self.delay, self.max_size = now_ms, delay_ms, max_size
        self.phase, self.generation = "Empty", 0
        self.members: dict[str, MemberModel] = {}
        self.pending: set[str] = set()
        self.unsynced: set[str] = set()
        self.leader: str | None = None
        self.first: tuple[int, int] | None = None
        self.newcomers = False
        self.due: dict[str, tuple[int, int]] = {}
        self._order = count()

    def after(self, name: str, ms: int) -> None:
        self.due[name] = (self.now + ms, next(self._order))

    def wait(self, ms: int) -> None:
        end = self.now + ms
        while self.due and min(self.due.values())[0] <= end:
            name = min(self.due, key=self.due.__getitem__)
            self.now = self.due.pop(name)[0]
            self._expire(name)
        self.now = end

    def _expire(self, name: str) -> None:
        member = self.members.get(name)
        if name == "join":
            if self.first and self.newcomers and self.first[1]:
                self.newcomers = False
                ms = min(self.delay, self.first[1])
                self.first = (ms, max(self.first[1] - self.first[0], 0))
                self.after("join", ms)
            else:
                self._complete()
        elif name == "sync":
            for each in sorted(self.unsynced):
                self._drop(each)
            self._prepare()
        elif name in self.pending:
            self._drop(name)
            self._complete_if_all(even_first=True)
        elif member and not (member.has_generation and (member.joins or member.syncs)):
            self._drop(name)
            if self.phase == "PreparingRebalance":
                self._complete_if_all(even_first=True)
            else:
                self._prepare()

    # Requests

    def new_id(self, member: str, session_ms: int) -> ErrorCode:
        if not self.has_room(""):
            return ErrorCode.GROUP_MAX_SIZE_REACHED
        self.pending.add(member)
        self.after(member, session_ms)
        return ErrorCode.MEMBER_ID_REQUIRED

    def join(self, member: str, joiner: MemberModel) -> ErrorCode | None:
        """None: it waits. A member neither known nor pending is new, if `joiner` is static."""
        existing = self.members.get(member)
        if not self.has_room(member):
            self._drop(member)
            self._complete_if_all()
            return ErrorCode.GROUP_MAX_SIZE_REACHED
        if existing is None:
            if member not in self.pending and joiner.instance is None:
                return UNKNOWN
            return self._enter(member, joiner)
        same = existing.says == joiner.says
        quiet = self.phase == "CompletingRebalance" or (
            self.phase == "Stable" and member != self.leader
        )
        if same and quiet:
            return NONE
        existing.says, existing.joins = joiner.says, True
        existing.session_ms, existing.rebalance_ms = joiner.session_ms, joiner.rebalance_ms
        self._prepare_or_complete()
        return None if existing.joins else NONE

    def _enter(self, member: str, joiner: MemberModel) -> ErrorCode | None:
        self.newcomers = self.newcomers or self.first is not None
        self.pending.discard(member)
        self.members[member] = joiner
        self.leader = self.leader or member
        self.after(member, NEW_MS)
        self._prepare_or_complete()
        return None if joiner.joins else NONE

    def replace(
        self, old: str, member: str, joiner: MemberModel, *, refused: bool = False
    ) -> ErrorCode | None:
        """A static member is back. refused: nothing can be stored."""
        before = self.members[old]
        if refused and self.phase == "Stable":
            self.due.pop(old, None)
            self.after(old, before.session_ms)
            return ErrorCode.NOT_COORDINATOR
        joiner.has_generation, joiner.has = before.has_generation, before.has
        self.due.pop(old, None)
        self.members = {
            (member if name == old else name): (joiner if name == old else each)
            for name, each in self.members.items()
        }
        self.leader = member if self.leader == old else self.leader
        if old in self.unsynced:
            self.unsynced = self.unsynced - {old} | {member}
        self.after(member, before.session_ms)
        if self.phase == "Stable":
            joiner.joins = False
            return NONE
        if self.phase == "CompletingRebalance":
            self._prepare()
        else:
            self._complete_if_all()
        return None if joiner.joins else NONE

    def sync(self, member: str, generation: int, *, refused: bool = False) -> ErrorCode | None:
        if member not in self.members:
            return UNKNOWN
        if generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        if self.phase == "PreparingRebalance":
            return ErrorCode.REBALANCE_IN_PROGRESS
        self.unsynced.discard(member)
        if not self.unsynced:
            self.due.pop("sync", None)
        if self.phase == "Stable":
            return NONE
        self.members[member].syncs = True
        if member != self.leader:
            return None
        if refused:
            self._prepare()
            return ErrorCode.NOT_COORDINATOR
        for name, state in self.members.items():
            state.has = True
            if state.syncs:
                state.syncs = False
                self.after(name, state.session_ms)
        self.phase = "Stable"
        return NONE

    def beat(self, member: str, generation: int) -> ErrorCode:
        if member not in self.members:
            return UNKNOWN
        if generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        self.after(member, self.members[member].session_ms)
        preparing = self.phase == "PreparingRebalance"
        return ErrorCode.REBALANCE_IN_PROGRESS if preparing else NONE

    def leave(self, *members: str) -> list[ErrorCode]:
        codes = []
        for member in members:
            is_present = member in self.members or member in self.pending
            codes.append(NONE if is_present else UNKNOWN)
            if is_present:
                self._drop(member)
        if NONE in codes:
            if self.phase in ("Stable", "CompletingRebalance"):
                self._prepare()
            else:
                self._complete_if_all()
        return codes

    # The rebalance

    def has_room(self, member: str) -> bool:
        if self.phase == "Empty":
            return True
        existing = self.members.get(member)
        if self.phase == "PreparingRebalance":
            waiting = sum(each.joins for each in self.members.values())
            return (existing is not None and existing.joins) or waiting < self.max_size
        return existing is not None or len(self.members) < self.max_size

    def _drop(self, member: str) -> None:
        self.members.pop(member, None)
        self.pending.discard(member)
        self.unsynced.discard(member)
        self.due.pop(member, None)
        if member == self.leader:
            self.leader = next(iter(self.members), None)

    def _prepare_or_complete(self) -> None:
        if self.phase == "PreparingRebalance":
            self._complete_if_all()
        else:
            self._prepare()

    def _prepare(self) -> None:
        for name, state in self.members.items():
            if self.phase == "CompletingRebalance":
                state.has = False
                if state.syncs:
                    state.syncs = False
                    self.after(name, state.session_ms)
        self.unsynced.clear()
        self.due.pop("sync", None)
        longest = max((member.rebalance_ms for member in self.members.values()), default=0)
        self.first, self.newcomers = None, False
        if self.phase == "Empty":
            self.first = (self.delay, max(longest - self.delay, 0))
        self.phase = "PreparingRebalance"
        if self.first:
            self.after("join", self.delay)
        elif not self._complete_if_all():
            self.after("join", longest)

    def _complete_if_all(self, *, even_first: bool = False) -> bool:
        waits = [member.joins for member in self.members.values()]
        ready = self.phase == "PreparingRebalance" and all(waits) and not self.pending
        if ready and (even_first or self.first is None):
            self._complete()
            return True
        return False

    def _complete(self) -> None:
        self.due.pop("join", None)
        for name, state in list(self.members.items()):
            if not state.joins and state.instance is None:
                self._drop(name)
        joined = [name for name, state in self.members.items() if state.joins]
        if self.members and not joined:
            self.after("join", max(member.rebalance_ms for member in self.members.values()))
            return
        if joined and self.leader not in joined:
            self.leader = joined[0]
        self.first, self.generation = None, self.generation + 1
        self.phase = "CompletingRebalance" if self.members else "Empty"
        for name, state in self.members.items():
            state.joins, state.has_generation = False, True
            self.unsynced.add(name)
            self.after(name, state.session_ms)
        if self.members:
            self.after("sync", max(member.rebalance_ms for member in self.members.values()))
