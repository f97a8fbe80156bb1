"""Log directories that run out of space, or are lost."""

from collections.abc import Iterator
from typing import Final

from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.change import Change
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.findings.texts import amount, counted

FULL_SHARE: Final = 0.95  # used share of a disk from which it is nearly full
_NO_ROOM_SHARE: Final = 0.999


def directory_space(change: Change) -> Iterator[Finding]:
    for directory in change.now.directories:
        share = directory.used_share
        if share is None or share < FULL_SHARE or directory.error:
            continue
        is_full = share >= _NO_ROOM_SHARE or directory.free_bytes == 0
        state = "full" if is_full else f"{100 * share:.0f} % full"
        room = "" if directory.free_bytes is None else f": {amount(directory.free_bytes)} are free"
        yield Finding(
            kind="directory-space",
            title=f"the disk of {directory.path} is {state}",
            more=room,
            subject=Subject("directory", directory.path),
            severity="wrong",
            hurt=directory.logs,
        )


def lost_directory(change: Change) -> Iterator[Finding]:
    directories = change.now.directories
    serving = sum(not directory.error for directory in directories)
    for directory in directories:
        if not directory.error:
            continue
        rest = (
            f"; {counted(serving, 'other directory', 'other directories')}"
            f" {'serves' if serving == 1 else 'serve'}"
            if serving
            else "; it was the last one, and the broker ends"
        )
        yield Finding(
            kind="lost-directory",
            title=f"log directory {directory.path} is offline",
            more=f": {directory.error}{rest}",
            subject=Subject("directory", directory.path),
            severity="wrong",
            hurt=max(directory.logs, 1),
        )
