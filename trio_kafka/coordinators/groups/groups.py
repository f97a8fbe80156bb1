"""The machine of one partition of `__consumer_offsets`: all groups whose records stand there.

It knows every group by its id, replays each record by its key, and passes events on to those who
know: the kinds of groups (classic, consumer), and the offsets, which groups of all kinds have.
Sans-IO.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from trio_kafka.coordinators.effects import CoordinatorRecord, Effects, TimerKey
from trio_kafka.coordinators.groups.group import Group, Kind, Replay
from trio_kafka.coordinators.groups.settings import DEFAULT_GROUP_SETTINGS, GroupSettings
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.steps import Steps

MakeKind: TypeAlias = "Callable[[Groups], Kind]"
SettingsOf: TypeAlias = Callable[[str], GroupSettings]


def default_settings(_group_id: str) -> GroupSettings:
    """Kafka's defaults for every group."""
    return DEFAULT_GROUP_SETTINGS


class Groups:
    """by_id: the groups; kinds change it in replay, and where they make a group that has no record
    yet. image: of the metadata, as of the last `image_changed`. settings_of: by the group's id.
    """

    def __init__(
        self,
        kinds: Sequence[MakeKind] = (),
        *,
        settings_of: SettingsOf = default_settings,
        image: MetadataImage | None = None,
    ) -> None:
        self.by_id: dict[str, Group] = {}
        self.image = image or MetadataImage()
        self.settings_of = settings_of
        self.kinds = [make(self) for make in kinds]
        self._replays: dict[type[Any], Replay] = {}
        self._timers: dict[str, Kind] = {}
        for kind in self.kinds:
            self._replays.update(kind.replays)
            self._timers.update(dict.fromkeys(kind.timers, kind))

    def group(self, group_id: str) -> Group:
        """Raises KafkaError(GROUP_ID_NOT_FOUND)."""
        found = self.by_id.get(group_id)
        if found is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return found

    @property
    def replays(self) -> Mapping[type[Any], Replay]:
        """By class of key."""
        return self._replays

    def replay(self, record: CoordinatorRecord) -> None:
        """Take a record that was written, here or by whoever led this partition before. One whose
        kind is not served here is left alone.
        """
        replay = self._replays.get(type(record.key))
        if replay is not None:
            replay(record.key, record.value)

    def loaded(self, now_ms: int) -> Effects:
        """All that is stored has been replayed."""
        effects = Effects()
        for kind in self.kinds:
            effects.join(kind.loaded(now_ms))
        return effects

    def image_changed(self, delta: MetadataDelta, image: MetadataImage, now_ms: int) -> Effects:
        """The metadata have changed."""
        self.image = image
        effects = Effects()
        for kind in self.kinds:
            effects.join(kind.image_changed(delta, now_ms))
        return effects

    def timer(self, key: TimerKey, now_ms: int) -> Effects | Steps[Effects]:
        """A timer that was set is due."""
        return self._timers[str(key[0])].timer(key, now_ms)
