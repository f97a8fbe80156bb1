"""Feature levels of the cluster for ApiVersions, from the newest image."""

from collections.abc import Mapping
from typing import Final

from trio_kafka.broker.node import Node, Part, at_once
from trio_kafka.metadata.features import KRAFT_VERSION, SUPPORTED
from trio_kafka.metadata.publisher import MetadataCache
from trio_kafka.metadata.source import MetadataSource
from trio_kafka.raft.driver import RaftDriver
from trio_kafka.requests.parts import Features

_RANGES: Final = {name: (levels.low, levels.high) for name, levels in SUPPORTED.items()}


class ClusterFeatures:
    """Implementation of `requests.parts.Features`."""

    def __init__(self, metadata: MetadataCache, source: MetadataSource) -> None:
        self._metadata = metadata
        self._source = source

    @property
    def supported(self) -> Mapping[str, tuple[int, int]]:
        """Level ranges that this software supports."""
        return _RANGES

    @property
    def finalized(self) -> Mapping[str, int]:
        """Levels of the features that the cluster uses."""
        levels = {**self._metadata.image.features, KRAFT_VERSION: self._source.kraft_version}
        return {name: level for name, level in levels.items() if level}

    @property
    def epoch(self) -> int:
        """Offset of the last metadata record that is known here; -1: none yet."""
        return self._metadata.image.offset - 1


def _make(node: Node) -> ClusterFeatures:
    return ClusterFeatures(node[MetadataCache], node[RaftDriver])


FEATURES: Final = Part(kind=ClusterFeatures, open=at_once(_make), face=Features)
