"""Log directories as a part of the node: locked and identified, their logs not loaded yet.

The failure of a directory takes its replicas offline. It ends the node if the metadata log or the
last data directory is lost.
"""

from typing import Final

from trio_kafka.broker.lifecycle import Lifecycle
from trio_kafka.broker.node import Node, Part, Stage
from trio_kafka.broker.storage import Storage, open_storage
from trio_kafka.errors import InvariantError, LogDirError
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.replication.lifecycle import ReplicaLifecycle


async def _open(node: Node) -> Storage:
    config = node.config

    def on_failure(directory: LogDirectory) -> None:
        _directory_failed(node, logs, directory)

    logs = LogManager(
        node.world,
        config.directories,
        node.tree,
        on_offline=on_failure,
        open_files=node.options.open_files,
        threads=config.background_threads,
        yield_point=node.yield_point,
    )
    node.on_abandon(logs.abandon)
    storage = await open_storage(
        node.world, config, logs, format_if_empty=node.options.format_if_empty
    )
    node.on_abandon(storage.abandon)
    return storage


def _directory_failed(node: Node, logs: LogManager, directory: LogDirectory) -> None:
    error = directory.offline
    if error is None:
        raise InvariantError(f"{directory.path} reported a failure without being offline")
    lifecycle = node.get(ReplicaLifecycle)
    if lifecycle is not None:
        lifecycle.directory_offline(directory)
    lost = directory.path == node.config.metadata_directory
    if lost or all(other.offline for other in logs.directories):
        node.tasks.fail(error)


async def _close(node: Node) -> None:
    """Close the logs and the directories; the metadata log was closed before."""
    if state_is_lost(node):
        return  # `Node.abandon` releases the logs
    storage, lifecycle = node[Storage], node.get(Lifecycle)
    epoch = -1 if lifecycle is None else lifecycle.epoch
    # Otherwise none is loaded, and empty checkpoints would replace the existing ones.
    if node.get(LogManager) is not None:
        await storage.logs.close(epoch)
    await storage.close(epoch)
    if storage.metadata.offline is not None:
        node.tasks.fail(storage.metadata.offline)


def state_is_lost(node: Node) -> bool:
    """Return True if the state in memory cannot be trusted: the next start recovers."""
    return node.is_broken and not isinstance(node.tasks.failure, LogDirError)


DIRECTORIES: Final = Part(
    kind=Storage, open=_open, stops={Stage.LOGS: _close}, step="log directories"
)
