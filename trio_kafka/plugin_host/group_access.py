"""Facts of consumer groups for plugins that show them; see `state_access`.

A group needs DESCRIBE on the group, and its topics DESCRIBE on the topic. What the principal may
not see is left out: its groups, and its topics from assignments and from the lag.
"""

from collections.abc import Callable, Container, Sequence
from functools import cache
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.coordinators.groups.coordinator import GroupCoordinator
from trio_kafka.coordinators.groups.facts.group_facts import group_facts
from trio_kafka.coordinators.groups.facts.lag_samples import LagKey, LagSamples, lag_samples
from trio_kafka.coordinators.groups.facts.ranking import RankedGroup, ranked
from trio_kafka.coordinators.groups.facts.view import GroupView
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.lag import EndOf, ends_of
from trio_kafka.coordinators.shards.shard import Shard
from trio_kafka.errors import KafkaError
from trio_kafka.introspect.facts.groups import GroupFacts
from trio_kafka.plugin_host.paced_steps import paced
from trio_kafka.requests.loopback import IN_PROCESS
from trio_kafka.requests.parts import Missing, Parts
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import Principal
from trio_kafka.security.resources import DENIALS, Resource, ResourceType

ALL: Final = -1


@frozen
class GroupPage:
    """Some groups in their order. total: groups that there are."""

    groups: Sequence[GroupFacts]
    total: int


async def read_groups_as(
    principal: Principal, parts: Parts, *, only: str | None = None, most: int = ALL
) -> Sequence[GroupFacts]:
    """Read the groups that this broker coordinates, the most troubled first.

    only: read this group alone; none if it does not exist. most: number of groups whose facts are
    computed.
    Raises KafkaError(GROUP_AUTHORIZATION_FAILED) if `only` may not be read.
    """
    coordinator = parts.groups
    if isinstance(coordinator, Missing):
        return ()
    if only is None:
        return (await read_group_page_as(principal, parts, most=most)).groups
    _authorize_group(principal, parts, only)
    chosen = [(shard, only) for shard in coordinator.active_shards]
    return await _facts_of(coordinator, parts, chosen, may_describe_topic(principal, parts))


async def read_group_page_as(
    principal: Principal, parts: Parts, *, of: str = "", first: int = 0, most: int = ALL
) -> GroupPage:
    """Read some of the groups in their order by trouble, and how many there are.

    of: text that their ids contain, in whatever case. first: groups to skip. Only the ranking
    looks at every group.
    """
    coordinator = parts.groups
    if isinstance(coordinator, Missing):
        return GroupPage((), 0)
    ranking = await rank_groups_as(principal, parts, of=of)
    chosen = ranking[first : None if most < 0 else first + most]
    pairs = [(group.shard, group.group_id) for group in chosen]
    may_describe = may_describe_topic(principal, parts)
    return GroupPage(await _facts_of(coordinator, parts, pairs, may_describe), len(ranking))


async def _facts_of(
    coordinator: GroupCoordinator,
    parts: Parts,
    chosen: Sequence[tuple[Shard[Groups], str]],
    may_describe: Callable[[str], bool],
) -> list[GroupFacts]:
    end_of, facts = ends_of(parts.replicas), list[GroupFacts]()
    for shard, group_id in chosen:
        if group_id not in shard.machine.by_id:
            continue  # another shard has it, or it was deleted meanwhile
        view = _view(coordinator, shard, group_id, may_describe)
        group = await paced(group_facts(shard.machine, group_id, view, end_of))
        if group is not None:
            facts.append(group)
    return facts


async def rank_groups_as(
    principal: Principal, parts: Parts, *, of: str = ""
) -> Sequence[RankedGroup]:
    """Return the groups that the principal may see, the most troubled first, without their facts.

    of: as in `read_group_page_as`. Lag in topics that it may not see does not count.
    """
    coordinator = parts.groups
    if isinstance(coordinator, Missing):
        return ()
    may_see, searched = may_describe_group(principal, parts), of.lower()

    def is_visible(group_id: str) -> bool:
        return searched in group_id.lower() and may_see(group_id)

    may_describe = may_describe_topic(principal, parts)
    end_of: EndOf = ends_of(parts.replicas)
    return await paced(ranked(coordinator.active_shards, end_of, is_visible, may_describe))


async def sample_lags_as(
    principal: Principal, parts: Parts, *, tracked: Container[LagKey], most: int
) -> LagSamples:
    """Sample offset and end of the partitions that groups read: see `lag_samples`."""
    coordinator = parts.groups
    if isinstance(coordinator, Missing):
        return LagSamples((), 0)
    sees_group = cache(may_describe_group(principal, parts))
    sees_topic = may_describe_topic(principal, parts)

    def may_sample(group_id: str, topic: str) -> bool:
        return sees_group(group_id) and sees_topic(topic)

    end_of = ends_of(parts.replicas)
    return await paced(
        lag_samples(coordinator.machines, end_of, may_sample, tracked=tracked, most=most)
    )


def may_describe_group(principal: Principal, parts: Parts) -> Callable[[str], bool]:
    """Return whether the principal may see a group, by its id."""

    def may_describe(group_id: str) -> bool:
        resource = Resource(ResourceType.GROUP, group_id)
        return parts.authorizer.authorize(principal, IN_PROCESS.host, Operation.DESCRIBE, resource)

    return may_describe


def may_describe_topic(principal: Principal, parts: Parts) -> Callable[[str], bool]:
    """Return whether the principal may see a topic, by its name. Each topic is asked for once, so
    the function is for one reading.
    """

    @cache
    def may_describe(topic: str) -> bool:
        resource = Resource(ResourceType.TOPIC, topic)
        return parts.authorizer.authorize(principal, IN_PROCESS.host, Operation.DESCRIBE, resource)

    return may_describe


def _authorize_group(principal: Principal, parts: Parts, group_id: str) -> None:
    if not may_describe_group(principal, parts)(group_id):
        raise KafkaError(
            DENIALS[ResourceType.GROUP],
            f"{principal} has no permission {Operation.DESCRIBE.name} on group {group_id}: ask an"
            " administrator for it",
        )


def _view(
    coordinator: GroupCoordinator,
    shard: Shard[Groups],
    group_id: str,
    may_describe: Callable[[str], bool],
) -> GroupView:
    return GroupView(
        now_ms=int(coordinator.wall() * 1000),
        left_s=shard.keyed_timers.left_s,
        settings=shard.machine.settings_of(group_id),
        image=shard.machine.image,
        may_describe=may_describe,
    )
