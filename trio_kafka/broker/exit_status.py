"""Exit status of a broker process, and the final log message."""

from collections.abc import Callable
from typing import Final

from trio_kafka.broker.errors import StartError
from trio_kafka.errors import InvariantError, KafkaError, LogDirError, advice, leaves
from trio_kafka.introspect.log import get_logger
from trio_kafka.plugin_host.guard import PluginError

_logger: Final = get_logger(__name__)
STOPPED: Final = 0
NOT_STARTED: Final = 1
# Status 2 means rejected settings; it belongs to the command line.
BROKEN_INVARIANT: Final = 3
LOST_STORAGE: Final = 4
ENDED_AT_ONCE: Final = 5  # by a second signal: the next start recovers
FAILED_PLUGIN: Final = 6  # a plugin with the policy `fatal`
NO_START: Final = "the broker did not start"
# Errors that end a broker, most severe first: class, exit status, message. None: `refused`.
_ENDS: Final = (
    (InvariantError, BROKEN_INVARIANT, "a broken invariant stopped the broker"),
    (LogDirError, LOST_STORAGE, "storage is lost"),
    (PluginError, FAILED_PLUGIN, "a plugin stopped the broker"),
    ((StartError, KafkaError, OSError), NOT_STARTED, None),
)


def exit_status_of(run: Callable[[], int], *, refused: str = NO_START) -> int:
    """Return the exit status of `run`, and log its failure.

    refused: message if the start or action was rejected. An unknown exception is a bug and is
    raised.
    """
    try:
        return run()
    except (Exception, BaseExceptionGroup) as error:
        errors = leaves(error)
        for kinds, status, message in _ENDS:
            reasons = [leaf for leaf in errors if isinstance(leaf, kinds)]
            for reason in reasons:
                found_out = f"{reason}{advice(reason.__cause__)}"
                _logger.error(message or refused, reason=found_out)  # noqa: TRY400 - no traceback
            if reasons:
                return status
        raise
