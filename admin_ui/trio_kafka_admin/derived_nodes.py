"""Nodes that the overview derives: long waits of requests, and lag of groups.

Each is a node of the snapshot, of a kind of its own, below the node that it belongs to. Both are
read in steps.
"""

from collections.abc import Iterable
from typing import Final

import trio

from trio_kafka.coordinators.groups.lag import ends_of, lags
from trio_kafka.introspect.snapshots import NodeSnapshot, Path
from trio_kafka.protocol.messages.k10010_describe_requests import RequestLife
from trio_kafka.requests.parts import Missing, Parts

LONG_S: Final = 5.0  # age from which a wait is long
WAITING_APIS: Final = frozenset({"Fetch", "JoinGroup", "SyncGroup"})
"""APIs whose requests wait for other clients by design."""
LEAST_LAG: Final = 1_000  # records; smaller lags are omitted
LONG_WAIT: Final = "long-wait"
GROUP_LAG: Final = "group-lag"
BESIDE: Final = frozenset({LONG_WAIT, GROUP_LAG})
"""Kinds of these nodes; the tree has no node of these kinds."""
_KAFKAS_KEYS: Final = range(10_000)  # how long APIs of plugins may wait is unknown
_A_STEP: Final = 64  # partitions or requests between two checkpoints


def watched_keys(parts: Parts) -> list[int]:
    """Return the keys of APIs whose requests should not wait for long."""
    names = parts.apis.names
    return [key for key, name in names.items() if key in _KAFKAS_KEYS and name not in WAITING_APIS]


async def long_waits(root: str, requests: Iterable[RequestLife]) -> dict[Path, NodeSnapshot]:
    """Return a node for each API and wait reason with requests older than LONG_S.

    Figures: count; oldest_s, client and stage of the oldest one.
    """
    counts = dict[Path, int]()
    oldest = dict[Path, RequestLife]()
    for number, life in enumerate(requests, 1):
        if life.age_us > LONG_S * 1e6:
            waits_for = life.waits_for or life.stage
            path = (root, f"plane {life.plane}", f"{life.api_name} waits for {waits_for}")
            counts[path] = counts.get(path, 0) + 1
            if path not in oldest or life.age_us > oldest[path].age_us:
                oldest[path] = life
        if not number % _A_STEP:
            await trio.lowlevel.checkpoint()
    return {
        path: NodeSnapshot(
            LONG_WAIT,
            path[-1],
            {
                "count": counts[path],
                "api": life.api_name,
                "waits_for": life.waits_for or life.stage,
                "oldest_s": life.age_us / 1e6,
                "client": life.client_id,
            },
        )
        for path, life in oldest.items()
    }


async def group_lags(root: str, parts: Parts) -> dict[Path, NodeSnapshot]:
    """Return a node for each group on this broker that lags by LEAST_LAG records or more in total.

    Figures: lag, in records; members.
    """
    nodes = dict[Path, NodeSnapshot]()
    coordinator = parts.groups
    if isinstance(coordinator, Missing):
        return nodes
    end_of = ends_of(parts.replicas)
    for machine in coordinator.machines:
        for group_id in tuple(machine.by_id):
            lag = 0
            for number, partition in enumerate(lags(machine, group_id, end_of), 1):
                lag += partition.lag or 0
                if not number % _A_STEP:
                    await trio.lowlevel.checkpoint()
            group = machine.by_id.get(group_id)  # it may have been deleted meanwhile
            if lag >= LEAST_LAG and group is not None:
                figures = {"lag": lag, "members": len(group.members())}
                path = (root, "group-coordinator", f"lag of {group_id}")
                nodes[path] = NodeSnapshot(GROUP_LAG, group_id, figures)
            await trio.lowlevel.checkpoint()
    return nodes
