"""Offsets in transactions: what clients say to coordinators of transactions and of groups."""

from typing import Any, Final

from tests.apis.classic import join_request
from tests.apis.transaction_talk import (
    GROUP,
    NEW_END,
    NEW_OFFSETS,
    OLD_END,
    OLD_OFFSETS,
    TRANSACTION,
    TransactionTalk,
    add_offsets,
    commit_offsets,
    end,
    wrong,
)
from trio_kafka.coordinators.transactions.transaction import ProducerIdentity
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from trio_kafka.protocol.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from trio_kafka.protocol.messages.k14_sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from trio_kafka.protocol.messages.k42_delete_groups import DeleteGroupsRequest
from trio_kafka.protocol.messages.k47_offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)

VERSIONS: Final = (0, 2, 3, OLD_OFFSETS, NEW_OFFSETS)
TOPIC: Final = "offsets"


def fetch(group: str, *, stable: bool) -> OffsetFetchRequest:
    """Return a request for the offsets of both partitions."""
    topics = [OffsetFetchRequestTopics(TOPIC, partition_indexes=[0, 1])]
    return OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group, topics=topics)], require_stable=stable
    )


async def offsets(talk: TransactionTalk) -> None:
    """All about offsets."""
    await talk.create(TOPIC)
    for version in (OLD_OFFSETS, NEW_OFFSETS):
        await _simple_group(talk, version)
        await _deleted_group(talk, version)
        await _members(talk, version)
    await _topic_ids(talk)


async def _producer(talk: TransactionTalk, name: str, group: str) -> ProducerIdentity:
    await talk.ready(TRANSACTION, name)
    await talk.ready(GROUP, group)
    await talk.initialize(name)
    return await talk.initialize(name)


def _end_version(version: int) -> int:
    return NEW_END if version >= NEW_OFFSETS else OLD_END


async def _simple_group(talk: TransactionTalk, version: int) -> None:
    """A group without members."""
    name = group = f"offsets-{version}"
    producer = await _producer(talk, name, group)
    for label, named in wrong(producer):
        for each in VERSIONS if version == OLD_OFFSETS else (version,):
            request = commit_offsets(name, named, TOPIC, group=group)
            await talk.say(f"{name}: with {label}", request, each)
    if version == OLD_OFFSETS:
        for each in VERSIONS[:-1]:
            request = commit_offsets(name, producer, TOPIC, group=group)
            await talk.say(f"{name}: before the group is added", request, each)
        await talk.say(f"{name}: add", add_offsets(name, producer, group), 3)
    ghost = commit_offsets("ghost", producer, TOPIC, group=group)
    await talk.say(f"{name}: of another id", ghost, version)
    await talk.say(f"{name}: without an id", commit_offsets("", producer, TOPIC), version)
    await talk.say(
        f"{name}: without a group", commit_offsets(name, producer, TOPIC, group=""), version
    )
    rows: tuple[tuple[str, dict[str, Any]], ...] = (
        ("an unknown partition", {"partitions": (0, 7)}),
        ("no partition", {"partitions": ()}),
        ("large metadata", {"metadata": "x" * 4097}),
        ("a negative offset", {"offset": -7, "partitions": (1,)}),
        ("a partition twice", {"partitions": (0, 0)}),
        ("good ones", {}),
    )
    for label, fields in rows:
        request = commit_offsets(name, producer, TOPIC, group=group, **fields)
        await talk.say(f"{name}: {label}", request, version)
    request = commit_offsets(name, producer, "nowhere", group=group)
    await talk.say(f"{name}: an unknown topic", request, version)
    for stable in (True, False):
        await talk.say(f"{name}: fetch, {stable}", fetch(group, stable=stable), 9)
    await talk.say(f"{name}: end", end(name, producer), _end_version(version))
    await talk.settle(name)
    for stable in (True, False):
        await talk.say(f"{name}: fetch, {stable}, after the end", fetch(group, stable=stable), 9)
    request = commit_offsets(name, producer, TOPIC, group=group)
    await talk.say(f"{name}: after the end", request, version)


async def _deleted_group(talk: TransactionTalk, version: int) -> None:
    """A group is deleted, and its offsets are, while some are pending."""
    for commits in (True, False):
        name = group = f"deleted-{version}-{commits}"
        producer = await _producer(talk, name, group)
        if version == OLD_OFFSETS:
            await talk.say(f"{name}: add", add_offsets(name, producer, group), 3)
        request = commit_offsets(name, producer, TOPIC, group=group)
        await talk.say(f"{name}: commit", request, version)
        rows = [OffsetDeleteRequestTopic(TOPIC, [OffsetDeleteRequestPartition(0)])]
        await talk.say(f"{name}: delete the offset", OffsetDeleteRequest(group, rows))
        await talk.say(f"{name}: delete", DeleteGroupsRequest([group]))
        await talk.say(f"{name}: fetch", fetch(group, stable=True), 9)
        await talk.say(f"{name}: end", end(name, producer, commits=commits), _end_version(version))
        await talk.settle(name)
        await talk.say(f"{name}: fetch after the end", fetch(group, stable=True), 9)
        await talk.say(f"{name}: delete after the end", DeleteGroupsRequest([group]))


async def _members(talk: TransactionTalk, version: int) -> None:
    """A group with a member, whose generation is 1."""
    name = group = f"members-{version}"
    producer = await _producer(talk, name, group)
    member = (await talk.ask(join_request(9, group=group), 9)).member_id
    await talk.ask(join_request(9, member, group=group), 9)
    assigned = [SyncGroupRequestAssignment(member, b"all")]
    await talk.ask(SyncGroupRequest(group, 1, member, None, "consumer", "range", assigned), 5)
    if version == OLD_OFFSETS:
        await talk.say(f"{name}: add", add_offsets(name, producer, group), 3)
    rows: tuple[tuple[str, dict[str, Any]], ...] = (
        ("nobody", {}),
        ("a generation without a member", {"generation_id_or_member_epoch": 1}),
        ("no generation", {"member_id": member}),
        ("an older generation", {"member_id": member, "generation_id_or_member_epoch": 0}),
        ("a newer generation", {"member_id": member, "generation_id_or_member_epoch": 2}),
        ("a stranger", {"member_id": "ghost", "generation_id_or_member_epoch": 1}),
        (
            "an unknown instance",
            {"member_id": member, "generation_id_or_member_epoch": 1, "group_instance_id": "i"},
        ),
        ("the member", {"member_id": member, "generation_id_or_member_epoch": 1}),
    )
    for label, fields in rows:
        request = commit_offsets(name, producer, TOPIC, group=group, **fields)
        for each in (3, OLD_OFFSETS) if version == OLD_OFFSETS else (version,):
            await talk.say(f"{name}: {label}", request, each)
    await talk.say(f"{name}: end", end(name, producer), _end_version(version))
    await talk.settle(name)


async def _topic_ids(talk: TransactionTalk) -> None:
    """Version 6 names topics by their ids."""
    name = group = "ids"
    producer = await _producer(talk, name, group)
    topics = (await talk.ask(MetadataRequest([MetadataRequestTopic(name=TOPIC)]), 12)).topics
    for label, topic_id in (
        ("zero", bytes(16)),
        ("unknown", b"\x07" * 16),
        ("good", topics[0].topic_id),
    ):
        request = commit_offsets(name, producer, "", group=group)
        request.topics[0].topic_id = topic_id
        await talk.say(f"an id that is {label}", request, 6)
    await talk.say(f"{name}: end", end(name, producer), NEW_END)
    await talk.settle(name)
