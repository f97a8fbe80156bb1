"""The metadata of the cluster as parts of the node: the newest image and its loader."""

from functools import partial
from typing import Final

from trio_kafka.broker.node import Node, Part, Stage, at_once, tasks_end
from trio_kafka.broker.parts.quorum import METADATA_STEP, disk_failure, storage_errors_end_the_start
from trio_kafka.broker.storage import Storage
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.metadata.publisher import Loader, MetadataCache
from trio_kafka.raft.driver import RaftDriver

_LOADER: Final = "metadata"


def _make_cache(node: Node) -> MetadataCache:
    cluster_id = node.handler_parts.cluster_id = node[Storage].identity.cluster_id
    return MetadataCache(MetadataImage(cluster_id=cluster_id))


async def _open_loader(node: Node) -> Loader:
    """Load the committed records; the cache is the first to see an image."""
    storage = node[Storage]
    loader = Loader(
        node[RaftDriver],
        [node[MetadataCache]],
        cluster_id=storage.identity.cluster_id,
        elapsed=node.world.clock.elapsed,
        node=node.tree,
    )
    with storage_errors_end_the_start():
        await node.tasks.start(_LOADER, loader.run, cause=partial(disk_failure, storage.metadata))
    return loader


METADATA: Final = Part(kind=MetadataCache, open=at_once(_make_cache), step=METADATA_STEP)
LOADER: Final = Part(
    kind=Loader,
    open=_open_loader,
    stops={Stage.CONTROLLER: tasks_end(_LOADER)},
    step=METADATA_STEP,
)
