"""State machine of one partition of `__consumer_offsets`: the groups whose records are there.

It finds groups by id, replays records by the class of their key, and passes events to its
submachines: one for each type of groups, and one for the offsets, which all types share. Sans-IO.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Final, TypeAlias

from trio_kafka.coordinators.groups.offsets import Offsets
from trio_kafka.coordinators.groups.protocols import Group, Replay, Submachine
from trio_kafka.coordinators.groups.settings import DEFAULT_GROUP_SETTINGS, GroupSettings
from trio_kafka.coordinators.shards.effects import (
    CoordinatorRecord,
    Effects,
    EventResult,
    Ticket,
    TimerKey,
)
from trio_kafka.coordinators.shards.protocols import Change, WaitTimes
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.introspect.waits import Wait
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.protocol.stored.groups.classic import OffsetCommitKey
from trio_kafka.scheduling.chunked_work import Steps, emptied

MakeSubmachine: TypeAlias = "Callable[[Groups], Submachine]"
MakeGroup: TypeAlias = "Callable[[str], Group]"
_GROUPS: Final = 200  # that are shown
_MEMBERS: Final = 100  # of one group


class Groups:
    """The groups of one shard. by_id: changed by replay, and by events that make a group without a
    record.

    image: of the metadata. settings: the broker's. own_settings: of groups that have settings of
    their own.
    """

    def __init__(
        self,
        submachines: Sequence[MakeSubmachine] = (),
        *,
        simple: MakeGroup,
        settings: GroupSettings = DEFAULT_GROUP_SETTINGS,
        own_settings: Mapping[str, GroupSettings] | None = None,
        image: MetadataImage | None = None,
    ) -> None:
        """simple: makes a group that only has offsets, an empty classic one."""
        self.by_id: dict[str, Group] = {}
        self.image = image or MetadataImage()
        self.settings = settings
        self.own_settings: Mapping[str, GroupSettings] = (
            {} if own_settings is None else own_settings
        )
        self.offsets = Offsets(self)
        self.submachines: list[Submachine] = [
            self.offsets,
            *(make(self) for make in submachines),
        ]
        self._simple = simple
        self._replays: dict[type, Replay] = {}
        self._timers: dict[str, Submachine] = {}
        for submachine in self.submachines:
            self._replays.update(submachine.replays)
            self._timers.update(dict.fromkeys(submachine.timers, submachine))

    def group(self, group_id: str) -> Group:
        """Return a group. Raises KafkaError(GROUP_ID_NOT_FOUND)."""
        group = self.by_id.get(group_id)
        if group is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return group

    def group_or_simple(self, group_id: str) -> Group:
        """Return a group; make one that only has offsets if there is none."""
        group = self.by_id.get(group_id)
        if group is None:
            group = self.by_id[group_id] = self._simple(group_id)
        return group

    def settings_of(self, group_id: str) -> GroupSettings:
        """Return the settings in force for a group."""
        return self.own_settings.get(group_id, self.settings)

    # Replay

    def replay(self, record: CoordinatorRecord) -> None:
        """Apply a record, written here or by an earlier leader. A record of a type that is not
        served here is ignored.
        """
        replay = self._replays.get(type(record.key))
        if replay is not None:
            replay(record.key, record.value)

    def replay_transactional(self, producer_id: int, record: CoordinatorRecord) -> None:
        """Apply a record of a transaction: offsets are pending until its end."""
        if isinstance(record.key, OffsetCommitKey) and record.value is not None:
            self.group_or_simple(record.key.group)
            self.offsets.pending.add(producer_id, record.key, record.value)
        else:
            self.replay(record)

    def end_transaction(self, producer_id: int, *, committed: bool) -> Steps[None]:
        """Apply the end marker of a transaction."""
        return self.offsets.pending.end(producer_id, committed=committed)

    # Events

    def loaded(self, now_ms: int) -> Steps[Effects]:
        """Handle the first event: everything stored has been replayed."""
        effects = Effects()
        for submachine in self.submachines:
            effects.join((yield from submachine.loaded(now_ms)))
        return effects

    def image_changed(
        self, delta: MetadataDelta, image: MetadataImage, *, busy: bool = False
    ) -> "list[Change[Groups]]":
        """Return the events that follow from new metadata, in order.

        busy: an event is half done. It may make the first group, with the image that it has seen.
        """

        def take(_groups: "Groups", _now_ms: int) -> Effects:
            self.image = image
            return Effects()

        if not self.by_id and not busy:
            self.image = image
            return []
        changes: list[Change[Groups]] = [take]
        changes += [partial(_image_changed, submachine, delta) for submachine in self.submachines]
        return changes

    def timer(self, key: TimerKey, now_ms: int) -> EventResult:
        """Handle a timer that is due."""
        return self._timers[str(key[0])].timer(key, now_ms)

    def waits(self, key: str, ticket: Ticket, times: WaitTimes) -> tuple[Wait, ...]:
        """See `Machine`. key: group id."""
        group = self.by_id.get(key)
        if group is None:
            return ()
        submachines = (each for each in self.submachines if each.group_type == group.type)
        return next((each.waits(key, ticket, times) for each in submachines), ())

    # Life

    def close(self) -> Steps[None]:
        """Break the cycles between the parts, which would otherwise wait for the collector."""
        yield from emptied(self.by_id)
        yield from emptied(self.offsets.by_group)
        for part in self.submachines:
            vars(part).clear()
        for table in (self.submachines, self._replays, self._timers):
            table.clear()

    # Inspection

    def nodes(self, parent: Node) -> Iterator[Node]:
        """Yield one node for each group, with its members."""
        return _group_nodes(self.by_id.values(), parent)


def _image_changed(
    submachine: Submachine, delta: MetadataDelta, _groups: Groups, now_ms: int
) -> EventResult:
    return submachine.image_changed(delta, now_ms)


def _group_nodes(groups: Collection[Group], parent: Node) -> Iterator[Node]:
    """Yield a node for each group, and one with the number of the others."""
    for group in tuple(islice(groups, _GROUPS)):  # groups may come and go meanwhile
        yield Node(
            group.group_id,
            "group",
            group.describe,
            parent=parent,
            transient=partial(_member_nodes, group),
        )
    yield from _more(len(groups) - _GROUPS, "groups", parent)


def _member_nodes(group: Group, parent: Node) -> Iterator[Node]:
    members = group.members()
    for member in members[:_MEMBERS]:
        yield Node(member.member_id, "member", member.figures, parent=parent)
    yield from _more(len(members) - _MEMBERS, "members", parent)


def _more(count: int, noun: str, parent: Node) -> Iterator[Node]:
    if count > 0:
        yield Node(f"{count} more {noun}", "part", parent=parent)
