"""What the cluster can do, for ApiVersions: levels by feature, from the newest image."""

from collections.abc import Mapping
from typing import Final

from trio_kafka.metadata.features import KRAFT_VERSION, SUPPORTED
from trio_kafka.metadata.publisher import MetadataCache
from trio_kafka.metadata.source import MetadataSource

_RANGES: Final = {name: (levels.low, levels.high) for name, levels in SUPPORTED.items()}


class ClusterFeatures:
    """Implements `requests.parts.Features`."""

    def __init__(self, metadata: MetadataCache, source: MetadataSource) -> None:
        self._metadata = metadata
        self._source = source

    @property
    def supported(self) -> Mapping[str, tuple[int, int]]:
        """What this software knows."""
        return _RANGES

    @property
    def finalized(self) -> Mapping[str, int]:
        """The levels of the cluster, of those features that are in use."""
        levels = {**self._metadata.image.features, KRAFT_VERSION: self._source.kraft_version}
        return {name: level for name, level in levels.items() if level}

    @property
    def epoch(self) -> int:
        """The offset of the last record of the metadata that are known here; -1: none yet."""
        return self._metadata.image.offset - 1
