"""The metadata log as a part of the node.

An I/O error on the metadata log stops the node, which cannot run without its metadata.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from trio_kafka.broker.errors import StartError, storage_error
from trio_kafka.broker.node import Node, Part, Stage
from trio_kafka.broker.parts.directories import state_is_lost
from trio_kafka.broker.settings import metadata_log_config, metadata_retention
from trio_kafka.broker.storage import Storage
from trio_kafka.errors import LogDirError
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.raft.driver import RaftDriver, open_quorum
from trio_kafka.raft.format import METADATA_PARTITION
from trio_kafka.raft.store import open_store
from trio_kafka.raft.voters import UnsupportedQuorumError, Voter, VoterSet

# Step of the start.
METADATA_STEP: Final = "metadata"
_LOG: Final = "raft"


async def _open(node: Node) -> RaftDriver:
    """Open and recover the metadata log, and elect a leader.

    Raises StartError if other nodes vote or the directory cannot be used.
    """
    storage = node[Storage]
    with storage_errors_end_the_start():
        raft = await _recover(node, storage)
        node.on_abandon(raft.abandon)
        await node.tasks.start(_LOG, raft.run, cause=partial(disk_failure, storage.metadata))
    return raft


async def _recover(node: Node, storage: Storage) -> RaftDriver:
    directory = storage.metadata
    try:
        store = await open_store(
            node.world,
            directory.root,
            metadata_log_config(node.config),
            static=_static_voters(node),
            retention=metadata_retention(node.config),
            durable=directory.recovery_of(METADATA_PARTITION).recovery_point,
        )
        raft = await open_quorum(
            store, node_id=node.node_id, directory_id=storage.directory_id, node=node.tree
        )
    except UnsupportedQuorumError as error:
        raise StartError(f"{directory.path}: {error}") from error
    directory.durable_elsewhere = lambda: {METADATA_PARTITION: raft.durable_offset}
    return raft


def _static_voters(node: Node) -> VoterSet | None:
    """Return the voter of `controller.quorum.voters`: this node, as settings allow no other."""
    if not node.config.controller_quorum_voters:
        return None
    return VoterSet(kraft_version=0, voters=(Voter(node.node_id),))


async def _close(node: Node) -> None:
    """Close the metadata log before the others: no write may follow the clean-shutdown marker."""
    await node.tasks.stop(_LOG)
    if state_is_lost(node):
        return
    metadata = node[Storage].metadata
    try:
        await node[RaftDriver].close()
    except (LogDirError, OSError) as error:
        metadata.fail(error if isinstance(error, LogDirError) else lost_by(metadata, error))


@contextmanager
def storage_errors_end_the_start() -> Iterator[None]:
    """Turn the LogDirError of a block into a StartError."""
    try:
        yield
    except LogDirError as error:
        raise storage_error(error) from error


def disk_failure(directory: LogDirectory, error: Exception) -> Exception:
    """Take `directory` offline after an I/O error of a task, which becomes a LogDirError."""
    if not isinstance(error, LogDirError | OSError):
        return error
    lost = error if isinstance(error, LogDirError) else lost_by(directory, error)
    directory.fail(lost)
    return lost


def lost_by(directory: LogDirectory, error: OSError) -> LogDirError:
    """Make the LogDirError of a system error."""
    return LogDirError(directory.path, str(error))


QUORUM: Final = Part(
    kind=RaftDriver,
    open=_open,
    stops={Stage.LOGS: _close},
    step=METADATA_STEP,
)
