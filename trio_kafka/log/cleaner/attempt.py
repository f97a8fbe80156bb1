"""One attempt to work on a log, and what follows from its failure.

Each kind of failure is a type. Damage sets the log aside. An error of the disk takes its directory
offline. All else passes, and the attempt is repeated.
"""

from collections.abc import Awaitable, Callable
from enum import Enum, auto
from typing import Final, TypeVar

from trio_kafka.errors import ErrorCode, InvariantError, KafkaError, LogDirError
from trio_kafka.introspect.log import get_logger
from trio_kafka.log.batch_lookup import CutBatchError
from trio_kafka.log.cleaner.job import CleaningError
from trio_kafka.log.cleaner.states import CleaningStates
from trio_kafka.log.cleaner.swap import SupersededError
from trio_kafka.log.errors import DiskFullError, LogClosedError, NoDescriptorError, typed_errors
from trio_kafka.log.log import Log
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.world.world import WorkerLostError

T = TypeVar("T")
_logger: Final = get_logger(__name__)


class Failure(Enum):
    """Result of a failed attempt: it may be repeated, or the log is of no use any more."""

    PASSING = auto()
    FINAL = auto()


async def attempt(
    states: CleaningStates, log: Log, directory: LogDirectory, *, call: Callable[[], Awaitable[T]]
) -> T | Failure:
    """Await `call`, and return its result or the kind of its failure. Raises InvariantError.

    directory: of the log.
    """
    try:
        with typed_errors():
            return await call()
    except InvariantError:
        raise
    except (LogClosedError, LogDirError):
        failure = Failure.FINAL  # the directory has logged why it is offline
    except (SupersededError, WorkerLostError, DiskFullError, NoDescriptorError) as error:
        failure = _pass(log, error)
    except OSError as error:
        directory.fail(error)
        failure = Failure.FINAL
    except (CleaningError, CutBatchError) as error:
        failure = _mark_uncleanable(states, log, error)
    except KafkaError as error:  # other codes: such as a log that was cut meanwhile
        is_damage = error.code is ErrorCode.CORRUPT_MESSAGE
        failure = _mark_uncleanable(states, log, error) if is_damage else _pass(log, error)
    except Exception as bug:  # noqa: BLE001 - one log with a bug must not stop all others
        failure = _mark_uncleanable(states, log, bug)
    return failure


def _pass(log: Log, error: Exception) -> Failure:
    partition = str(log.partition)
    if log.closed or isinstance(error, SupersededError):
        _logger.info("cleaning abandoned", partition=partition, reason=str(error))
    else:
        _logger.warning("cleaning abandoned", partition=partition, reason=str(error))
    return Failure.FINAL if log.closed else Failure.PASSING


def _mark_uncleanable(states: CleaningStates, log: Log, error: Exception) -> Failure:
    """Mark a log uncleanable, as every attempt would fail. The reason names file and position."""
    if log.closed:
        return _pass(log, error)
    states.uncleanable[log] = reason = f"{type(error).__name__}: {error}"
    _logger.error(
        "partition marked uncleanable",
        partition=str(log.partition),
        reason=reason,
        exc_info=error,
    )
    return Failure.FINAL
