"""What the cluster can do, for ApiVersions: levels by feature, from the newest image."""

from collections.abc import Mapping
from typing import Final

from trio_kafka.metadata.features import SUPPORTED
from trio_kafka.metadata.publisher import MetadataCache

_RANGES: Final = {name: (levels.low, levels.high) for name, levels in SUPPORTED.items()}


class ClusterFeatures:
    """Implements `requests.parts.Features`."""

    def __init__(self, metadata: MetadataCache) -> None:
        self._metadata = metadata
        self._last: Mapping[str, int] | None = None
        self._epoch = -1

    @property
    def supported(self) -> Mapping[str, tuple[int, int]]:
        """What this software knows."""
        return _RANGES

    @property
    def finalized(self) -> Mapping[str, int]:
        """The levels of the cluster."""
        return {name: level for name, level in self._metadata.image.features.items() if level}

    @property
    def epoch(self) -> int:
        """The offset at which the levels were first seen as they are; -1: none yet."""
        image = self._metadata.image
        if image.features is not self._last:
            self._last = image.features
            self._epoch = image.offset if image.features else -1
        return self._epoch
