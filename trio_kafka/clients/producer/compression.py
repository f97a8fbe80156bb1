"""Estimate of how far records of a topic can be compressed. Does no I/O.

Source: CompressionRatioEstimator of Apache Kafka 4.4.0: the estimate gets better slowly and worse
fast, as a batch that is too large must be split.
"""

from typing import Final

from attrs import field

from trio_kafka.attributes import define

_BETTER: Final = 0.005
_WORSE: Final = 0.05
_MARGIN: Final = 1.05
_LEAST: Final = 1 / 16  # also bounds how much a batch of well compressed records holds


@define(eq=False)
class CompressionRatios:
    """Ratio of compressed to plain size, by topic; 1.0 until a batch was compressed."""

    _ratios: dict[str, float] = field(factory=dict, init=False)

    def scale(self, topic: str) -> float:
        """Return the estimated compressed size of a plain byte, with the margin that Kafka adds."""
        return max(self._ratios.get(topic, 1.0), _LEAST) * _MARGIN

    def compressed(self, topic: str, before: int, after: int) -> None:
        """Note the plain and the compressed size of a batch."""
        seen = after / max(before, 1)
        ratio = self._ratios.get(topic, 1.0)
        ratio = max(ratio + _WORSE, seen) if seen > ratio else max(ratio - _BETTER, seen)
        self._ratios[topic] = ratio

    def too_large(self, topic: str) -> None:
        """Note that a batch was too large: count on no compression."""
        self._ratios[topic] = 1.0
