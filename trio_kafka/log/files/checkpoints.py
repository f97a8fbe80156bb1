"""Small text files that are replaced as a whole, and checkpoints in that form.

New content is written to `<name>.tmp`, synced and renamed, then the directory is synced: after a
power loss the file has the old or the new content. A checkpoint begins with its version (0) and its
number of lines. Each line has fields separated by one space.
Source: Kafka's checkpoint file formats.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import islice
from typing import Final

import trio

from trio_kafka.errors import LogDirError
from trio_kafka.log.files.descriptor_retry import sync_names, when_free, when_free_now
from trio_kafka.model import TopicPartition
from trio_kafka.world.protocols import Directory, File

RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
START_OFFSETS: Final = "log-start-offset-checkpoint"
CLEANER_OFFSETS: Final = "cleaner-offset-checkpoint"
LEADER_EPOCHS: Final = "leader-epoch-checkpoint"
_LONGEST: Final = 19  # digits of an int64
_SMALL: Final = 64 * 1024
_LARGEST: Final = 64 << 20  # more than checkpoints of 100,000 partitions
_SLICE: Final = 1000  # lines written at a time: about 0.5 ms


class OversizedFileError(ValueError):
    """Raised for a file that is larger than any that a broker writes in its place."""


async def read_file(directory: Directory, name: str, most: int = _LARGEST) -> bytes | None:
    """Return the whole content; None without such a file. OSError.

    most: bytes; a larger file raises OversizedFileError, a ValueError.
    """
    try:
        file = await when_free_now(lambda: directory.open(name))
    except FileNotFoundError:
        return None
    try:
        if file.size > most:
            raise OversizedFileError(f"{file.size} bytes, want at most {most}")
        content = bytearray(file.size)
        return bytes(content[: await _read(file, content)])
    finally:
        file.close()


async def _read(file: File, content: bytearray) -> int:
    """Read from the begin of a file, in a thread unless it is small and in memory."""
    if len(content) <= _SMALL:
        with suppress(OSError):
            length = file.try_read(0, content)
            if length == len(content):
                await trio.lowlevel.checkpoint()
                return length
    return await file.read(0, content)


async def replace_file(directory: Directory, name: str, content: bytes) -> None:
    """Make `content` the durable content of the file, or keep the old one. OSError.

    One caller at a time for each file.
    """
    temporary = f"{name}.tmp"
    file = await when_free(lambda: directory.create_slow(temporary, content, replace=True))
    try:
        await file.sync()
    finally:
        file.close()
    directory.rename(temporary, name)
    await sync_names(directory)


async def read_lines(
    directory: Directory, name: str, fields: int, *, may_be_empty: bool = False
) -> list[list[str]]:
    """Read a checkpoint, and return its lines, each split into `fields` fields.

    Without a file there are no lines. may_be_empty: an empty file is valid and has no lines.
    Raises LogDirError with the file and the line.
    """
    try:
        content = await read_file(directory, name)
        if content is None or (may_be_empty and not content):
            return []
        return parse_lines(content, fields)
    except ValueError as error:
        raise LogDirError(directory.path, f"{name} {error}") from None


def parse_lines(content: bytes, fields: int) -> list[list[str]]:
    """Return the lines of a checkpoint with this content, split into fields.

    Raises ValueError with the line.
    """
    lines = content.decode("utf-8", "replace").split("\n")

    def corrupt(line: int, want: str) -> ValueError:
        text = lines[line - 1] if line <= len(lines) else ""
        return ValueError(f"line {line}: {text!r}, want {want}")

    if lines[0] != "0":
        raise corrupt(1, "version 0")
    if len(lines) < 2 or not _is_integer(lines[1]) or lines[1].startswith("-"):
        raise corrupt(2, "the number of lines")
    count = int(lines[1])
    rows = [line.rsplit(" ", fields - 1) for line in lines[2 : 2 + count]]
    for number, row in enumerate(rows, 3):
        if len(row) != fields or not all(_is_integer(field) for field in row[-2:]):
            raise corrupt(number, f"{fields} fields")
    if len(rows) < count or any(lines[2 + count :]):
        raise corrupt(2, f"a count that is true, there are {sum(map(bool, lines[2:]))} lines")
    return rows


def _is_integer(text: str) -> bool:
    """Return True for an int64 in ASCII digits, as `int` raises for longer digit strings."""
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdecimal() and len(digits) <= _LONGEST


def checkpoint_text(rows: Iterable[tuple[object, ...]]) -> bytes:
    """Return the content of a checkpoint with these rows."""
    lines = [" ".join(map(str, row)) for row in rows]
    return "\n".join(["0", str(len(lines)), *lines, ""]).encode()


async def read_offsets(directory: Directory, name: str) -> dict[TopicPartition, int]:
    """Read a checkpoint of `topic partition offset` lines. Raises LogDirError.

    Kafka makes an empty CLEANER_OFFSETS, and fills it when it has first compacted a log.
    """
    rows = await read_lines(directory, name, 3, may_be_empty=name == CLEANER_OFFSETS)
    return {TopicPartition(topic, int(number)): int(offset) for topic, number, offset in rows}


async def write_offsets(
    directory: Directory, name: str, offsets: Mapping[TopicPartition, int]
) -> None:
    """Replace a checkpoint of `topic partition offset` lines. OSError.

    Other tasks run between slices of its lines. One writer at a time; `offsets` must not change
    meanwhile.
    """
    lines = ["0", str(len(offsets))]
    rest = iter(offsets.items())
    while some := list(islice(rest, _SLICE)):
        lines.append("\n".join([f"{at.topic} {at.partition} {offset}" for at, offset in some]))
        await trio.lowlevel.checkpoint()
    await replace_file(directory, name, "\n".join([*lines, ""]).encode())
