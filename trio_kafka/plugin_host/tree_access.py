"""The tree of the broker for plugins, with the permission that DescribeTree needs.

A plugin that shows the tree reads it in process: as values, and not as the bytes of a response.
"""

from collections.abc import Sequence
from typing import Final

from trio_kafka.errors import KafkaError
from trio_kafka.introspect.tree_reader import TreeReading, read_tree
from trio_kafka.requests.loopback import IN_PROCESS
from trio_kafka.requests.parts import Parts
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import Principal
from trio_kafka.security.resources import DENIALS, THE_CLUSTER

_NEEDED: Final = Operation.DESCRIBE


async def read_tree_as(
    principal: Principal,
    parts: Parts,
    *,
    path: str = "",
    depth: int = -1,
    most: int = -1,
    kinds: Sequence[str] = (),
) -> TreeReading:
    """Read a part of the tree; the arguments are those of `introspect.tree_reader.read_tree`.

    principal: client for which it is read; it needs DESCRIBE on the cluster, as for DescribeTree.
    Raises KafkaError: CLUSTER_AUTHORIZATION_FAILED, and what the reader raises.
    """
    if not parts.authorizer.authorize(principal, IN_PROCESS.host, _NEEDED, THE_CLUSTER):
        raise KafkaError(
            DENIALS[THE_CLUSTER.type],
            f"{principal} has no permission {_NEEDED.name} on cluster {THE_CLUSTER.name}: ask an"
            " administrator for it",
        )
    return await read_tree(parts.tree, path=path, depth=depth, most=most, kinds=kinds)
