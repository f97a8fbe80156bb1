"""State of the broker for plugins that show it: its tree, its requests and its plugins.

Each is read in process, with the bounds and the permission of the API that answers the same:
DescribeTree, DescribeRequests, ListPlugins, DescribeLogDirs. A reading is no request: it waits for
no place in the request channel and for no handler, so it answers while all of them are taken. It
appears in no list of requests, metric or request log, and interceptors do not see it.
"""

from collections.abc import Collection, Sequence
from contextlib import ExitStack
from typing import Final

import trio

from trio_kafka.errors import KafkaError
from trio_kafka.introspect.facts.connections import ConnectionFacts
from trio_kafka.introspect.facts.requests import OpenedRequest, RequestFacts
from trio_kafka.introspect.facts.storage import DirectoryFacts
from trio_kafka.introspect.recording import Recording
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.introspect.tree_reader import TreeReading, read_tree
from trio_kafka.log.manager.directory_facts import read_directories
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.protocol.messages.k10002_list_plugins import ListPluginsResponse
from trio_kafka.protocol.messages.k10010_describe_requests import (
    DescribeRequestsResponse,
    RequestLife,
)
from trio_kafka.requests.connection_facts import read_connection_facts
from trio_kafka.requests.descriptions import list_plugin, make_life
from trio_kafka.requests.inspection import MAX_REQUESTS, Selection, inspect_requests
from trio_kafka.requests.loopback import IN_PROCESS
from trio_kafka.requests.opened_request import open_request
from trio_kafka.requests.parts import Missing, Parts
from trio_kafka.requests.request_facts import read_request_facts
from trio_kafka.scheduling.chunked_work import step
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import Principal
from trio_kafka.security.resources import DENIALS, THE_CLUSTER

_SLICE: Final = 32  # requests made into rows between two checkpoints: 0.2 ms


async def read_tree_as(
    principal: Principal,
    parts: Parts,
    *,
    path: str = "",
    depth: int = -1,
    most: int = -1,
    kinds: Sequence[str] = (),
    counts: bool = False,
) -> TreeReading:
    """Read a part of the tree; the arguments are those of `introspect.tree_reader.read_tree`.

    principal: client for which it is read; it needs DESCRIBE on the cluster, as for DescribeTree.
    Raises KafkaError: CLUSTER_AUTHORIZATION_FAILED, and what the reader raises.
    """
    _authorize(principal, parts, Operation.DESCRIBE)
    return await read_tree(
        parts.tree, path=path, depth=depth, most=most, kinds=kinds, counts=counts
    )


async def read_requests_as(
    principal: Principal,
    parts: Parts,
    selection: Selection,
    *,
    keys: Collection[int] = (),
    client_id: str | None = None,
    most: int = -1,
) -> DescribeRequestsResponse:
    """List requests as DescribeRequests does. most: -1: as many as its bound allows.

    principal: needs DESCRIBE on the cluster. keys: only these APIs; empty: all. client_id: only
    this client. Raises KafkaError(CLUSTER_AUTHORIZATION_FAILED).
    """
    _authorize(principal, parts, Operation.DESCRIBE)

    def is_wanted(stamps: Stamps, client: str) -> bool:
        return (not keys or stamps.key in keys) and client_id in (None, client)

    limit = MAX_REQUESTS if most < 0 else min(most, MAX_REQUESTS)
    steps = inspect_requests(parts.planes, selection, is_wanted, limit, parts.in_process)
    while (done := step(steps)) is None:
        await trio.lowlevel.checkpoint()
    inspected, truncated = done.value
    lives = list[RequestLife]()
    for number, request in enumerate(inspected):
        if not number % _SLICE:
            await trio.lowlevel.checkpoint()
        lives.append(make_life(request))
    await trio.lowlevel.checkpoint()
    return DescribeRequestsResponse(truncated=truncated, requests=lives)


async def read_request_facts_as(
    principal: Principal,
    parts: Parts,
    *,
    keys: Collection[int] = (),
    client_id: str | None = None,
    most: int = -1,
) -> list[RequestFacts]:
    """Return facts of the requests in flight: where each is, and the chain of its waits.

    Arguments, order, bounds and permission are those of `read_requests_as`.
    Raises KafkaError(CLUSTER_AUTHORIZATION_FAILED).
    """
    _authorize(principal, parts, Operation.DESCRIBE)

    def is_wanted(stamps: Stamps, client: str) -> bool:
        return (not keys or stamps.key in keys) and client_id in (None, client)

    limit = MAX_REQUESTS if most < 0 else min(most, MAX_REQUESTS)
    steps = read_request_facts(parts, is_wanted, limit)
    while (done := step(steps)) is None:
        await trio.lowlevel.checkpoint()
    await trio.lowlevel.checkpoint()
    return done.value


async def open_request_as(
    principal: Principal, parts: Parts, connection: str, correlation: int
) -> OpenedRequest | None:
    """Return a request in detail, in flight or ended lately; None: it is unknown.

    principal: needs DESCRIBE on the cluster. connection: id, as in the request log.
    Raises KafkaError(CLUSTER_AUTHORIZATION_FAILED).
    """
    _authorize(principal, parts, Operation.DESCRIBE)
    steps = open_request(parts, connection, correlation)
    while (done := step(steps)) is None:
        await trio.lowlevel.checkpoint()
    await trio.lowlevel.checkpoint()
    return done.value


async def read_connections_as(
    principal: Principal, parts: Parts, *, most: int = -1
) -> list[ConnectionFacts]:
    """Return facts of the open connections, by plane and processor.

    principal: needs DESCRIBE on the cluster. most: -1: as many as MAX_REQUESTS.
    Raises KafkaError(CLUSTER_AUTHORIZATION_FAILED).
    """
    _authorize(principal, parts, Operation.DESCRIBE)
    limit = MAX_REQUESTS if most < 0 else min(most, MAX_REQUESTS)
    steps = read_connection_facts(parts, limit)
    while (done := step(steps)) is None:
        await trio.lowlevel.checkpoint()
    await trio.lowlevel.checkpoint()
    return done.value


async def read_directories_as(
    principal: Principal, parts: Parts, *, sizes: bool = False
) -> list[DirectoryFacts]:
    """Return facts of the log directories: space, contents, syncs under way.

    principal: needs DESCRIBE on the cluster, as for DescribeLogDirs. sizes: compute the bytes of
    their logs, too: 1 µs for each segment.
    Raises KafkaError(CLUSTER_AUTHORIZATION_FAILED).
    """
    _authorize(principal, parts, Operation.DESCRIBE)
    raft = parts.raft
    others = () if isinstance(raft, Missing) else (raft.store.log,)
    return await read_directories(parts[LogManager], others, sizes=sizes)


async def record_as(principal: Principal, parts: Parts, seconds: float) -> Recording:
    """Record the steps of all tasks, and the requests and syncs that end in the next `seconds`.

    principal: needs DESCRIBE on the cluster. Each step of a task costs 1 us more meanwhile.
    Raises KafkaError(CLUSTER_AUTHORIZATION_FAILED).
    """
    _authorize(principal, parts, Operation.DESCRIBE)
    recording = Recording(parts.planes[0].request_metrics.elapsed)
    with ExitStack() as stack:
        for directory in parts[LogManager].directories:
            stack.enter_context(directory.latency.syncs.followed(recording.note_sync))
        planes = [(plane.name, plane.request_metrics) for plane in parts.planes]
        stack.enter_context(recording.running(planes))
        await trio.sleep(seconds)
    return recording


def list_plugins_as(principal: Principal, parts: Parts) -> ListPluginsResponse:
    """List the plugins as ListPlugins does.

    principal: needs DESCRIBE_CONFIGS on the cluster. Raises KafkaError(
    CLUSTER_AUTHORIZATION_FAILED).
    """
    _authorize(principal, parts, Operation.DESCRIBE_CONFIGS)
    return ListPluginsResponse(plugins=[list_plugin(status) for status in parts.plugins.statuses()])


def is_allowed(principal: Principal, parts: Parts, operation: Operation) -> bool:
    """Return whether a principal has a permission on the cluster."""
    return parts.authorizer.authorize(principal, IN_PROCESS.host, operation, THE_CLUSTER)


def _authorize(principal: Principal, parts: Parts, operation: Operation) -> None:
    """Require a permission on the cluster. Raises KafkaError(CLUSTER_AUTHORIZATION_FAILED)."""
    if not is_allowed(principal, parts, operation):
        raise KafkaError(
            DENIALS[THE_CLUSTER.type],
            f"{principal} has no permission {operation.name} on cluster {THE_CLUSTER.name}: ask an"
            " administrator for it",
        )
