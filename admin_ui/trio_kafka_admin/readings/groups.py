"""Readings of consumer groups."""

from collections.abc import Container, Sequence

from trio_kafka.coordinators.groups.facts.lag_samples import LagKey, LagSamples
from trio_kafka.introspect.facts.groups import GroupFacts
from trio_kafka.plugin_host.group_access import (
    GroupPage,
    read_group_page_as,
    read_groups_as,
    sample_lags_as,
)
from trio_kafka.requests.parts import Parts
from trio_kafka.security.principal import Principal


async def read_groups(
    parts: Parts, principal: Principal, *, only: str | None = None, most: int = -1
) -> Sequence[GroupFacts]:
    """Read the groups that this broker coordinates: see `group_access.read_groups_as`."""
    return await read_groups_as(principal, parts, only=only, most=most)


async def sample_lags(
    parts: Parts, principal: Principal, *, tracked: Container[LagKey], most: int
) -> LagSamples:
    """Sample the lag of groups: see `group_access.sample_lags_as`."""
    return await sample_lags_as(principal, parts, tracked=tracked, most=most)


async def read_group_page(
    parts: Parts, principal: Principal, *, of: str, first: int, most: int
) -> GroupPage:
    """Read some groups in their order by trouble: see `group_access.read_group_page_as`."""
    return await read_group_page_as(principal, parts, of=of, first=first, most=most)
