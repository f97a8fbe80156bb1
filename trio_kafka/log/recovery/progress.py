"""Progress of the load of a log directory: figures for the tree, and lines in the broker's log."""

from collections.abc import Callable, Iterable
from typing import Final, TypedDict

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures, Node

_EVERY_S: Final = 5.0
_MIB: Final = 1 << 20
_logger: Final = get_logger(__name__)


@define(eq=False)
class LogProgress:
    """Load of one log. segments: number of its segments. checked: of those that were handled.

    bytes_checked: read to check batches. worker: a worker process reads now.
    """

    name: str = ""
    segments: int = field(default=0, init=False)
    checked: int = field(default=0, init=False)
    bytes_checked: int = field(default=0, init=False)
    worker: bool = field(default=False, init=False)

    def figures(self) -> Figures:
        """Return figures for the tree."""
        return {
            "segments": self.segments,
            "checked": self.checked,
            "bytes_checked": self.bytes_checked,
            "worker": self.worker,
        }

    def __str__(self) -> str:
        return f"{self.name}({self.checked}/{self.segments})"


class _Fields(TypedDict):
    path: str
    loaded: int
    logs: int
    recovered: int
    checked_mib: int


@define(eq=False)
class DirectoryProgress:
    """Load of a directory. logs: number of its logs. recovered: logs of which batches were checked.

    bytes_checked: of logs that are loaded.
    """

    path: str
    logs: int = 0
    loaded: int = field(default=0, init=False)
    recovered: int = field(default=0, init=False)
    bytes_checked: int = field(default=0, init=False)
    _running: dict[LogProgress, None] = field(factory=dict, init=False)

    def begin(self, name: str) -> LogProgress:
        """Return the progress of a log whose load begins."""
        progress = LogProgress(name)
        self._running[progress] = None
        return progress

    def end(self, log: LogProgress) -> None:
        """Count a log that is loaded, or whose load has failed."""
        del self._running[log]
        self.loaded += 1
        self.recovered += log.bytes_checked > 0
        self.bytes_checked += log.bytes_checked

    @property
    def all_bytes_checked(self) -> int:
        """Bytes checked in all logs, those included that are being loaded."""
        return self.bytes_checked + sum(log.bytes_checked for log in self._running)

    def figures(self) -> Figures:
        """Return figures for the tree."""
        return {
            "logs": self.logs,
            "loaded": self.loaded,
            "recovered": self.recovered,
            "bytes_checked": self.all_bytes_checked,
        }

    def nodes(self, parent: Node) -> Iterable[Node]:
        """Make nodes of the logs that are being loaded."""
        return [Node(log.name, "log", log.figures, parent=parent) for log in self._running]

    async def report(self) -> None:
        """Log the progress every few seconds until cancelled."""
        while True:
            await trio.sleep(_EVERY_S)
            fields = self._fields()
            _logger.info("logs loaded so far", **fields, now=" ".join(map(str, self._running)))

    def log_end(self, elapsed: Callable[[], float], began: float) -> None:
        """Log that the directory is loaded. began: reading of `elapsed`."""
        _logger.info("logs loaded", **self._fields(), ms=round((elapsed() - began) * 1000))

    def _fields(self) -> _Fields:
        return {
            "path": self.path,
            "loaded": self.loaded,
            "logs": self.logs,
            "recovered": self.recovered,
            "checked_mib": self.all_bytes_checked // _MIB,
        }
