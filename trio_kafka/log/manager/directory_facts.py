"""Log directories as facts: their space, what they hold, and their syncs."""

from collections.abc import Sequence
from typing import Final

import trio

from trio_kafka.introspect.facts.storage import DirectoryFacts, SyncFacts
from trio_kafka.log.log import Log
from trio_kafka.log.manager.description import UNKNOWN_SPACE
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.world.protocols import Space

LONGEST_S: Final = 0.25  # a disk that does not answer in time has an unknown space
AGAIN_S: Final = 30.0  # until such a disk is asked again: each question keeps a thread
_A_STEP: Final = 200  # logs between two checkpoints


async def read_directories(
    logs: LogManager, others: Sequence[Log] = (), *, sizes: bool = False
) -> list[DirectoryFacts]:
    """Return facts of all configured directories, in order; those that cannot be opened come last.

    others: further logs, whose syncs belong to a directory, such as the metadata log.
    sizes: compute the bytes of all logs.
    """
    directories = tuple(logs.directories)
    spaces = await _spaces(directories)
    facts = []
    for directory, space in zip(directories, spaces, strict=True):
        now = trio.current_time()
        size = await _size(directory) if sizes else None
        syncs = (*directory.latency.syncs.facts(now), *_syncs_of(others, directory, now))
        facts.append(
            DirectoryFacts(
                path=directory.path,
                error="" if directory.offline is None else str(directory.offline),
                free_bytes=None if space == UNKNOWN_SPACE else space.usable,
                total_bytes=None if space == UNKNOWN_SPACE else space.total,
                used_share=_used_share(space),
                logs=len(directory.logs) + len(directory.futures),
                log_bytes=size,
                syncs=syncs,
                waiting=logs.pending_syncs(directory),
            )
        )
    return [*facts, *(_unopened(path, str(why)) for path, why in logs.offline_paths.items())]


async def _spaces(directories: Sequence[LogDirectory]) -> list[Space]:
    """Return the space of each directory; all are asked at the same time."""
    spaces = [UNKNOWN_SPACE] * len(directories)

    async def ask(number: int, directory: LogDirectory) -> None:
        with trio.move_on_after(LONGEST_S) as scope:
            try:
                spaces[number] = await directory.root.space()
            except OSError:
                return  # unknown; a directory that has vanished goes offline by itself
        if scope.cancelled_caught:
            directory.space_asked_from = trio.current_time() + AGAIN_S

    async with trio.open_nursery() as nursery:
        for number, directory in enumerate(directories):
            if directory.space_asked_from <= trio.current_time():
                nursery.start_soon(ask, number, directory, name=f"space of {directory.path}")
    return spaces


async def _size(directory: LogDirectory) -> int:
    """Return the bytes of all logs of a directory."""
    size = 0
    for number, log in enumerate(directory.all_logs, 1):
        size += log.size
        if not number % _A_STEP:
            await trio.lowlevel.checkpoint()
    return size


def _syncs_of(others: Sequence[Log], directory: LogDirectory, now: float) -> list[SyncFacts]:
    """Return the syncs of further logs in a directory."""
    return [
        SyncFacts(directory=directory.path, files=sync.files, age_s=sync.age_s)
        for log in others
        if log.directory.path.rpartition("/")[0] == directory.path
        for sync in log.latency.syncs.facts(now)
    ]


def _used_share(space: Space) -> float | None:
    if space == UNKNOWN_SPACE or space.total <= 0:
        return None
    return min(max(1 - space.usable / space.total, 0.0), 1.0)


def _unopened(path: str, error: str) -> DirectoryFacts:
    return DirectoryFacts(
        path=path,
        error=error,
        free_bytes=None,
        total_bytes=None,
        used_share=None,
        logs=0,
        log_bytes=None,
        syncs=(),
        waiting=0,
    )
