"""With which status a broker's process ends, and what is said of why."""

from collections.abc import Callable
from typing import Final

from trio_kafka.broker.errors import StartError
from trio_kafka.errors import InvariantError, KafkaError, LogDirError, leaves
from trio_kafka.introspect.log import get_logger
from trio_kafka.plugin_host.guard import PluginError

_logger: Final = get_logger(__name__)
STOPPED: Final = 0
NOT_STARTED: Final = 1
# 2 says that settings were refused; it is the command's.
BROKEN_INVARIANT: Final = 3
LOST_STORAGE: Final = 4
ENDED_AT_ONCE: Final = 5  # by a second signal: the next start recovers
FAILED_PLUGIN: Final = 6  # whose policy is `fatal`
NO_START: Final = "the broker did not start"
# What ends a broker, the gravest first: the kinds of errors, the exit status, the words; None: the
# words for what was refused.
_ENDS: Final = (
    (InvariantError, BROKEN_INVARIANT, "a broken invariant stopped the broker"),
    (LogDirError, LOST_STORAGE, "storage is lost"),
    (PluginError, FAILED_PLUGIN, "a plugin stopped the broker"),
    ((StartError, KafkaError, OSError), NOT_STARTED, None),
)


def status_of(run: Callable[[], int], *, refused: str = NO_START) -> int:
    """The exit status of what `run` does; where a failure stops, it is told here.

    refused: what did not happen, if `run` is refused.
    What is no known end of a broker is a bug, and is raised.
    """
    try:
        return run()
    except (Exception, BaseExceptionGroup) as error:
        found = leaves(error)
        for kinds, status, told in _ENDS:
            reasons = [leaf for leaf in found if isinstance(leaf, kinds)]
            for reason in reasons:
                _logger.error(told or refused, reason=str(reason))  # noqa: TRY400 - no traceback: it is told
            if reasons:
                return status
        raise
