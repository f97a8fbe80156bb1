"""Syncs that take long."""

from collections.abc import Iterator
from typing import Final

from trio_kafka.introspect.facts.storage import DirectoryFacts
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.change import Change
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.findings.texts import counted, duration

SLOW_S: Final = 1.0  # age from which a sync is slow; a disk takes milliseconds
_NAMED: Final = 3


def slow_sync(change: Change) -> Iterator[Finding]:
    """Yield directories with a slow sync under way, and the requests that wait for it."""
    for directory in change.now.directories:
        slow = [sync for sync in directory.syncs if sync.age_s >= SLOW_S]
        if not slow:
            continue
        subject = Subject("directory", directory.path)
        waiting = [
            request
            for request in change.now.requests
            if any(wait.on == subject for wait in request.why)
        ]
        apis = sorted({request.api for request in waiting})
        verb = "waits" if len(waiting) == 1 else "wait"
        behind = f"; {counted(len(waiting), 'request')} {verb} for it ({', '.join(apis)})"
        oldest_s = max(sync.age_s for sync in slow)
        yield Finding(
            kind="slow-sync",
            title=f"the disk of {directory.path} is slow",
            more=f": a sync of {_files(directory)} has taken {duration(oldest_s)} so far"
            f"{behind if waiting else ''}",
            subject=subject,
            severity="wrong" if waiting else "watch",
            hurt=len({request.client_id for request in waiting}),
            age_s=oldest_s,
        )


def _files(directory: DirectoryFacts) -> str:
    files = max(directory.syncs, key=lambda sync: sync.age_s).files
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    return f"{', '.join(files[:_NAMED]) or 'a file'}{more}"
