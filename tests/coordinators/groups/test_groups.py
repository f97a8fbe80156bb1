"""The machine of a shard: who knows what, and what is passed on to whom."""

import gc
import weakref
from functools import partial

import pytest

from tests.coordinators.groups.consumer.kit import WaitingSearches
from tests.coordinators.groups.test_commits import simple
from trio_kafka.coordinators.groups.classic.submachine import ClassicGroups
from trio_kafka.coordinators.groups.consumer.submachine import ConsumerGroups
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.settings import DEFAULT_GROUP_SETTINGS, GroupSettings
from trio_kafka.coordinators.shards.effects import CoordinatorRecord, Effects, Ticket, TimerKey
from trio_kafka.coordinators.shards.protocols import WaitTimes
from trio_kafka.errors import KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.introspect.waits import Wait
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.protocol.stored.groups.classic import (
    GroupMetadataKey,
    OffsetCommitKey,
    OffsetCommitValue,
)
from trio_kafka.scheduling.chunked_work import Steps, whole


class Submachine:
    """A kind that notes what it is told."""

    group_type = classic_adapter = None
    timers = frozenset({"mine"})

    def __init__(self, _groups: Groups) -> None:
        self.seen: list[object] = []
        self.replays = {GroupMetadataKey: lambda key, value: self.seen.append((key.group, value))}

    def loaded(self, now_ms: int) -> Steps[Effects]:
        yield
        return Effects().set_timer(("mine", now_ms), 1)

    def image_changed(self, delta: MetadataDelta, now_ms: int) -> Effects:
        self.seen.append(("image", now_ms))
        return Effects()

    def timer(self, key: TimerKey, now_ms: int) -> Effects:
        self.seen.append((key, now_ms))
        return Effects()

    def waits(self, group_id: str, ticket: Ticket, times: WaitTimes) -> tuple[Wait, ...]:
        return ()


def machine() -> tuple[Groups, Submachine]:
    groups = Groups((Submachine,), simple=simple)
    (_, kind) = groups.submachines
    assert isinstance(kind, Submachine)
    return groups, kind


def test_records_and_timers_are_passed_to_the_submachine_that_registered_them() -> None:
    groups, kind = machine()

    groups.replay(CoordinatorRecord(GroupMetadataKey("g")))
    groups.replay(CoordinatorRecord("nobody's"))
    groups.replay_transactional(1, CoordinatorRecord(GroupMetadataKey("h")))
    groups.timer(("mine", 3), 5)

    assert kind.seen == [("g", None), ("h", None), (("mine", 3), 5)]


def test_effects_of_each_submachine_after_loading_are_joined() -> None:
    groups, _ = machine()
    groups.group_or_simple("g")

    keys = [timer.key for timer in whole(groups.loaded(5)).timers]

    assert keys == [("expire-group-metadata",), ("mine", 5)]


def test_new_metadata_image_reaches_submachines_when_groups_exist() -> None:
    groups, kind = machine()
    delta, image = MetadataDelta(MetadataImage()), MetadataImage()

    assert groups.image_changed(delta, image) == []
    assert groups.image is image

    groups.replay(
        CoordinatorRecord(OffsetCommitKey("g", "t", 0), OffsetCommitValue(1, metadata=""))
    )
    newer = MetadataImage()
    changes = groups.image_changed(delta, newer)
    assert groups.image is image
    for change in changes:
        change(groups, 7)
    assert groups.image is newer
    assert kind.seen == [("image", 7)]


def test_new_metadata_image_waits_for_an_event_in_progress() -> None:
    groups, kind = machine()
    before, newer = groups.image, MetadataImage()

    changes = groups.image_changed(MetadataDelta(before), newer, busy=True)

    assert groups.image is before
    for change in changes:
        change(groups, 7)
    assert groups.image is newer
    assert kind.seen == [("image", 7)]


def test_unknown_group_is_not_found_unless_created() -> None:
    groups, _ = machine()

    with pytest.raises(KafkaError, match="GROUP_ID_NOT_FOUND: Group g not found"):
        groups.group("g")
    group = groups.group_or_simple("g")
    assert groups.group_or_simple("g") is groups.group("g") is group


def test_a_group_may_have_settings_of_its_own() -> None:
    own = {"g": GroupSettings(consumer_session_timeout_ms=50_000)}
    groups = Groups(simple=simple, own_settings=own)

    assert groups.settings_of("g").consumer_session_timeout_ms == 50_000
    assert groups.settings_of("h") is DEFAULT_GROUP_SETTINGS
    own.clear()  # it is looked up when it is asked for
    assert groups.settings_of("g") is DEFAULT_GROUP_SETTINGS


def test_inspection_tree_has_nodes_for_a_bounded_number_of_groups() -> None:
    groups, _ = machine()
    for number in range(203):
        groups.group_or_simple(f"g{number}")
    parent = Node("shard", "part")

    nodes = list(groups.nodes(parent))

    assert len(nodes) == 201
    assert nodes[0].path == "shard/g0"
    assert nodes[0].figures()["state"] == "Empty"
    assert nodes[-1].name == "3 more groups"


def test_closed_machine_is_freed_without_the_garbage_collector() -> None:
    consumer_groups = partial(ConsumerGroups, searches=WaitingSearches())
    groups = Groups([ClassicGroups, consumer_groups], simple=simple)
    groups.group_or_simple("g")
    references = weakref.ref(groups), weakref.ref(groups.submachines[-1])
    gc.collect()
    gc.disable()
    try:
        whole(groups.close())
        assert list(groups.nodes(Node("shard", "part"))) == []  # whoever looks finds nothing
        del groups

        assert [reference() for reference in references] == [None, None]
    finally:
        gc.enable()
