"""Results of Apache Kafka's own assignors and hashes: see data/Assignments.java."""

import json
from collections.abc import Mapping
from functools import cache
from inspect import isgenerator
from pathlib import Path
from typing import Any

from attrs import frozen

from trio_kafka.coordinators.groups.consumer.assignors.spec import (
    Assignor,
    GroupAssignment,
    GroupSpec,
    MemberSpec,
    Partitions,
)
from trio_kafka.model import TopicId
from trio_kafka.scheduling.chunked_work import whole


@cache
def _file() -> Any:
    return json.loads((Path(__file__).parent / "data" / "assignments.json").read_text())


def hashes() -> Any:
    return _file()["hashes"]


@frozen(kw_only=True)
class Case:
    """One assignment. alike: all members subscribe to the same topics."""

    assignor: str
    alike: bool
    spec: GroupSpec
    after: GroupAssignment


def cases(assignor: str, *, alike: bool | None = None) -> list[Case]:
    """Those of one assignor; of groups that subscribe alike, or do not, or of all."""
    return [
        _case(case)
        for case in _file()["cases"]
        if case["assignor"] == assignor and alike in (None, case["same"])
    ]


def _case(case: Any) -> Case:
    sizes = {TopicId(bytes.fromhex(topic)): size for topic, size in case["sizes"].items()}
    members = {}
    for member_id, instance_id, topics in case["members"]:
        ids = [TopicId(bytes.fromhex(topic)) for topic in topics]
        members[member_id] = MemberSpec(
            topics={topic: sizes[topic] for topic in ids},
            assigned=_partitions(case["before"].get(member_id, {})),
            instance_id=instance_id,
        )
    return Case(
        assignor=case["assignor"],
        alike=case["same"],
        spec=group_of(members, homogeneous=case["same"]),
        after={member_id: _partitions(of) for member_id, of in case["after"].items()},
    )


def _partitions(topics: Mapping[str, list[int]]) -> Partitions:
    return {TopicId(bytes.fromhex(topic)): frozenset(of) for topic, of in topics.items() if of}


def group_of(members: Mapping[str, MemberSpec], *, homogeneous: bool) -> GroupSpec:
    """A group whose owners are those that its members say."""
    owners: dict[TopicId, dict[int, str]] = {}
    for member_id, member in members.items():
        for topic, numbers in member.assigned.items():
            owners.setdefault(topic, {}).update(dict.fromkeys(numbers, member_id))
    return GroupSpec(members=members, homogeneous=homogeneous, owners=owners)


def assigned(assignor: Assignor, group: GroupSpec) -> GroupAssignment:
    """All members with what they get, without empty sets."""
    answer = assignor.assign(group)
    result: GroupAssignment = whole(answer) if isgenerator(answer) else answer  # type: ignore[assignment]
    return {
        member_id: {topic: frozenset(of) for topic, of in result.get(member_id, {}).items() if of}
        for member_id in group.members
    }


def sizes(assignment: GroupAssignment) -> dict[str, int]:
    """How many partitions each member has."""
    return {
        member_id: sum(len(numbers) for numbers in topics.values())
        for member_id, topics in assignment.items()
    }


def kept(group: GroupSpec, after: GroupAssignment) -> dict[str, int]:
    """How many partitions each member keeps."""
    return {
        member_id: sum(
            len(frozenset(numbers) & frozenset(after[member_id].get(topic, ())))
            for topic, numbers in member.assigned.items()
        )
        for member_id, member in group.members.items()
    }


def everything(group: GroupSpec) -> set[tuple[TopicId, int]]:
    """All partitions that somebody subscribes to."""
    topics: dict[TopicId, int] = {}
    for member in group.members.values():
        topics.update(member.topics)
    return {(topic, number) for topic, size in topics.items() for number in range(size)}


def partitions_in(assignment: GroupAssignment) -> list[tuple[TopicId, int]]:
    """All that is assigned; what is assigned twice stands there twice."""
    return [
        (topic, number)
        for topics in assignment.values()
        for topic, numbers in topics.items()
        for number in numbers
    ]
