"""Data beside a group itself from which its facts are computed."""

from collections.abc import Callable
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.coordinators.groups.settings import GroupSettings
from trio_kafka.coordinators.shards.effects import TimerKey
from trio_kafka.metadata.image import MetadataImage

A_STEP: Final = 32  # members or partitions between two steps


@frozen(kw_only=True)
class GroupView:
    """One look at one group.

    now_ms: wall clock. left_s: seconds until a timer is due; None if it is not set. settings: of
    the group. may_describe: whether the reader may see a topic; others are left out.
    """

    now_ms: int
    left_s: Callable[[TimerKey], float | None]
    settings: GroupSettings
    image: MetadataImage
    may_describe: Callable[[str], bool]

    def ago_s(self, at_ms: int) -> float:
        """Return the seconds since a moment of the wall clock, which may have stepped back."""
        return max(0.0, (self.now_ms - at_ms) / 1000)


def earliest(*left_s: float | None) -> float | None:
    """Return the smallest of the times that are known; None: none is."""
    return min((seconds for seconds in left_s if seconds is not None), default=None)


def since_s(timeout_s: float, left_s: float | None) -> float | None:
    """Return how long ago a timer of this length was set, from the time that it has left."""
    return None if left_s is None else max(0.0, timeout_s - left_s)


def lasting(words: str, seconds: float | None) -> str:
    """Return the words with the time for which they have been true."""
    return words if seconds is None else f"{words} for {seconds:.0f} s"
