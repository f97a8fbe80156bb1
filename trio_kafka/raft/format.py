"""Formatting of the metadata log: its directory and the bootstrap snapshot of a new cluster.

Equivalent to `format --standalone`: kraft.version 1 with this node as the only voter, and the
features of a metadata.version. The log package writes `meta.properties`. Idempotent: a directory
that has the snapshot is left unchanged.
Source: record format facts of Apache Kafka 4.4.0, KIP-853.
"""

from collections.abc import Sequence
from typing import Final

from trio_kafka.log.files.descriptor_retry import sync_names
from trio_kafka.metadata.features import (
    KRAFT_VERSION,
    LATEST_LEVEL,
    bootstrap_features,
    default_level,
)
from trio_kafka.metadata.source import MetadataRecord
from trio_kafka.model import METADATA_TOPIC, NodeId, TopicPartition
from trio_kafka.raft.snapshot import BOOTSTRAP, write_snapshot
from trio_kafka.raft.voters import Voter, VoterEndpoint, VoterSet
from trio_kafka.world.protocols import Directory

METADATA_PARTITION: Final = TopicPartition(METADATA_TOPIC, 0)


async def format_metadata(
    root: Directory,
    *,
    node_id: NodeId,
    directory_id: bytes,
    endpoints: Sequence[VoterEndpoint],
    now_ms: int,
    level: int = LATEST_LEVEL,
    records: Sequence[MetadataRecord] = (),
) -> bool:
    """Format the metadata log in a log directory; return False if it existed already.

    directory_id: as in its meta.properties. endpoints: of this controller.
    records: written behind the features, such as those of the first users.
    Raises KafkaError(INVALID_UPDATE_VERSION) for an unknown level; OSError.
    """
    features = bootstrap_features(level)
    # It holds keys of passwords, from which passwords can be guessed.
    directory = root.directory(str(METADATA_PARTITION), create=True, private=True)
    if directory.exists(BOOTSTRAP.name):
        return False
    me = Voter(node_id, directory_id, tuple(endpoints))
    voters = VoterSet(default_level(KRAFT_VERSION, level), (me,))
    await write_snapshot(
        directory,
        BOOTSTRAP,
        [*features, *records],
        level=level,
        voters=voters,
        timestamp_ms=now_ms,
        now_ms=now_ms,
    )
    await sync_names(root)
    return True
