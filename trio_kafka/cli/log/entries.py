"""Entries of indexes, producer snapshots, checkpoints and other small files of a log, as dicts.

The keys of a dict are the columns of a table, and the keys of JSON. Entries of the offset and time
index end with the first one of zeros: files of a growing segment are preallocated.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from struct import Struct
from typing import Any, Final

from crc32c import crc32c

from trio_kafka.cli.log.places import Kind, LogFile
from trio_kafka.log.files import partition_metadata
from trio_kafka.log.files.checkpoints import parse_lines
from trio_kafka.log.manager import meta_properties
from trio_kafka.log.producer_rows import ENTRY as PRODUCER
from trio_kafka.log.producer_snapshot_format import (
    CRC_FROM,
    CorruptSnapshotError,
    StoredProducer,
    check_crc,
    check_head,
)
from trio_kafka.log.producer_snapshot_format import HEAD as PRODUCERS_HEAD
from trio_kafka.log.scan.index_files import (
    ABORTED_ENTRY,
    OFFSET_ENTRY,
    TIME_ENTRY,
    entries_of,
    remainder,
)
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.stored.quorum_state import read_quorum_state
from trio_kafka.world.blocking_file import FileReader, open_reader

Entry = dict[str, Any]
_LARGEST_SMALL_FILE: Final = 64 << 20  # bytes of a text file


class DamagedFileError(Exception):
    """Raised for a file that is not of its format. position: of the damage, None: all of it."""

    def __init__(self, text: str, position: int | None = None) -> None:
        super().__init__(text)
        self.position = position


def read_entries(file: LogFile) -> Iterator[Entry]:
    """Yield the entries of a file that has no batches. Raises DamagedFileError, OSError."""
    with open_reader(file.path) as reader:
        yield from _READERS[file.kind](file, reader)


def _check_size(reader: FileReader, layout: Struct) -> None:
    """Raise DamagedFileError unless the file has whole entries."""
    if rest := remainder(reader, layout):
        text = f"{reader.size} bytes, want a multiple of {layout.size}"
        raise DamagedFileError(text, reader.size - rest)


def _read_offsets(file: LogFile, reader: FileReader) -> Iterator[Entry]:
    for number, (relative, position) in enumerate(entries_of(reader, OFFSET_ENTRY)):
        if not relative and (number or not position):
            break
        yield {"offset": file.offset + relative, "position": position}
    _check_size(reader, OFFSET_ENTRY)


def _read_times(file: LogFile, reader: FileReader) -> Iterator[Entry]:
    for timestamp, relative in entries_of(reader, TIME_ENTRY):
        if not timestamp and not relative:
            break
        yield {"timestamp": timestamp, "offset": file.offset + relative}
    _check_size(reader, TIME_ENTRY)


def _read_transactions(_: LogFile, reader: FileReader) -> Iterator[Entry]:
    names = ("version", "producer_id", "first_offset", "last_offset", "last_stable_offset")
    for fields in entries_of(reader, ABORTED_ENTRY):
        if fields[0] != 0:
            raise DamagedFileError(f"entry of version {fields[0]}, want 0")
        yield dict(zip(names, fields, strict=True))
    _check_size(reader, ABORTED_ENTRY)


def _read_producers(_: LogFile, reader: FileReader) -> Iterator[Entry]:
    try:
        expected = check_head(reader.read(0, PRODUCERS_HEAD.size), reader.size)
        crc = 0
        for piece in reader.pieces(CRC_FROM, reader.size):
            crc = crc32c(piece, crc)
        check_crc(crc, expected)
    except CorruptSnapshotError as error:
        raise DamagedFileError(str(error)) from None
    for at in range(PRODUCERS_HEAD.size, reader.size, PRODUCER.size):
        stored = StoredProducer(*PRODUCER.unpack(reader.read(at, PRODUCER.size)))
        yield {
            "producer_id": stored.producer_id,
            "producer_epoch": stored.epoch,
            "coordinator_epoch": stored.coordinator_epoch,
            "transaction_first_offset": stored.transaction_first_offset,
            "first_sequence": stored.first_sequence,
            "last_sequence": stored.last_sequence,
            "last_offset": stored.last_offset,
            "offset_delta": stored.offset_delta,
            "timestamp": stored.timestamp,
        }


# --- text files


def _text_of(reader: FileReader) -> bytes:
    if reader.size > _LARGEST_SMALL_FILE:
        raise DamagedFileError(f"{reader.size} bytes are too many for such a file")
    return bytes(reader.read(0, reader.size))


def _read_checkpoint(_: LogFile, reader: FileReader) -> Iterator[Entry]:
    for topic, partition, offset in _lines(reader, 3):
        yield {"topic": topic, "partition": int(partition), "offset": int(offset)}


def _read_epochs(_: LogFile, reader: FileReader) -> Iterator[Entry]:
    for epoch, start in _lines(reader, 2):
        yield {"epoch": int(epoch), "start_offset": int(start)}


def _lines(reader: FileReader, fields: int) -> list[list[str]]:
    try:
        return parse_lines(_text_of(reader), fields)
    except ValueError as error:
        raise DamagedFileError(str(error)) from None


def _read_partition(_: LogFile, reader: FileReader) -> Iterator[Entry]:
    try:
        topic_id = partition_metadata.decode(_text_of(reader))
    except ValueError as error:
        raise DamagedFileError(str(error)) from None
    yield {"topic_id": partition_metadata.format_id(topic_id)}


def _read_identity(_: LogFile, reader: FileReader) -> Iterator[Entry]:
    try:
        properties = meta_properties.decode(_text_of(reader))
    except ValueError as error:
        raise DamagedFileError(str(error)) from None
    yield {
        "node_id": properties.node_id,
        "cluster_id": properties.cluster_id,
        "directory_id": properties.directory_id,
    }


def _read_quorum(_: LogFile, reader: FileReader) -> Iterator[Entry]:
    text = _text_of(reader).decode("utf-8", "replace")
    try:
        read_quorum_state(text)
    except DecodeError as error:
        raise DamagedFileError(str(error)) from None
    yield json.loads(text)


def _read_clean_stop(_: LogFile, reader: FileReader) -> Iterator[Entry]:
    try:
        content = json.loads(_text_of(reader) or b"{}")
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(f"no JSON: {error}") from None
    if not isinstance(content, dict):
        raise DamagedFileError(f"{content!r}, want an object")
    yield content


_READERS: Final[Mapping[Kind, Callable[[LogFile, FileReader], Iterator[Entry]]]] = {
    Kind.OFFSET_INDEX: _read_offsets,
    Kind.TIME_INDEX: _read_times,
    Kind.TRANSACTION_INDEX: _read_transactions,
    Kind.PRODUCERS: _read_producers,
    Kind.OFFSETS: _read_checkpoint,
    Kind.EPOCHS: _read_epochs,
    Kind.PARTITION: _read_partition,
    Kind.DIRECTORY: _read_identity,
    Kind.QUORUM: _read_quorum,
    Kind.CLEAN_STOP: _read_clean_stop,
}
