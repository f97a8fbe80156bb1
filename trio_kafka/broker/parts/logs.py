"""The logs of all partitions as a part of the node, loaded with the settings of the first image."""

from typing import Final

from trio_kafka.broker.errors import StartError
from trio_kafka.broker.node import Node, Part, Stage, tasks_end
from trio_kafka.broker.settings import settings_of_topic
from trio_kafka.broker.storage import Storage
from trio_kafka.errors import only_leaf
from trio_kafka.log.files.partition_metadata import format_id
from trio_kafka.log.manager.identity import IdentityError
from trio_kafka.log.manager.loading import load_logs
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.metadata.publisher import MetadataCache
from trio_kafka.model import NodeId, TopicPartition
from trio_kafka.replication.settings import log_config

_TASK: Final = "log-manager"


async def _open(node: Node) -> LogManager:
    logs, image, effective = node[Storage].logs, node[MetadataCache].image, node.effective
    of_topic = settings_of_topic(effective)
    try:
        await load_logs(
            logs,
            lambda at: log_config(of_topic(image, at.topic)),
            delete_delay_ms=effective.of(image).log_segment_delete_delay_ms,
            topic_id_of=lambda name: topic.id if (topic := image.topics.get(name)) else None,
            directory_of=lambda at: _directory_of(image, at, node.node_id),
            producers_silent_ms=node.config.producer_id_expiration_ms,
            at_once=effective.of(image).num_recovery_threads_per_data_dir,
        )
    except ExceptionGroup as error:
        leaf = only_leaf(error)
        if isinstance(leaf, IdentityError):
            raise StartError(f"{leaf}: remove one of them") from error
        raise
    await node.tasks.start(_TASK, logs.run)
    return logs


def _directory_of(image: MetadataImage, at: TopicPartition, node: NodeId) -> str | None:
    """Return the id of the directory that the metadata name for a replica of this broker."""
    state = image.partition(at)
    return None if state is None or node not in state.replicas else format_id(state.directory(node))


# The directories close them, after the metadata log.
LOGS: Final = Part(
    kind=LogManager, open=_open, stops={Stage.LOGS: tasks_end(_TASK)}, step="log manager"
)
