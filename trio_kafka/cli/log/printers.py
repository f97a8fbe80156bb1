"""Output of `trio-kafka log dump`: tables for people, lines of JSON for programs."""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Final, Protocol

from trio_kafka.cli.log.batches import Batch
from trio_kafka.cli.log.decoders import Decoded
from trio_kafka.cli.log.entries import Entry
from trio_kafka.cli.log.places import Kind, LogFile
from trio_kafka.cli.log.words import SHOWN, decoded_words, record_words, time_text
from trio_kafka.cli.output import LEFT, RIGHT, fixed_columns
from trio_kafka.protocol.texts import printable
from trio_kafka.records.batch import Record
from trio_kafka.records.header import NO_PRODUCER_ID
from trio_kafka.strict_json import dump_json

BATCHED: Final = (Kind.SEGMENT, Kind.METADATA_SNAPSHOT)
Shown = Decoded | str | None
"""A decoded record, the reason why it cannot be decoded, or None for one of clients."""


class Printer(Protocol):
    """Output of a dump, piece by piece."""

    def file(self, file: LogFile, size: int) -> None:
        """Begin with a file."""

    def batch(self, file: LogFile, batch: Batch) -> None:
        """Show a batch."""

    def record(self, file: LogFile, batch: Batch, record: Record, shown: Shown) -> None:
        """Show a record of the batch before."""

    def entry(self, file: LogFile, entry: Entry) -> None:
        """Show an entry of the file."""

    def damage(self, file: LogFile, position: int | None, text: str) -> None:
        """Show damage in the file."""


# --- for people

_COLUMNS: Final = (
    ("position", 10, RIGHT),
    ("bytes", 8, RIGHT),
    ("offsets", 15, LEFT),
    ("records", 7, RIGHT),
    ("latest time", 23, LEFT),
    ("codec", 6, LEFT),
    ("epoch", 5, RIGHT),
    ("producer", 12, LEFT),
    ("sequences", 11, LEFT),
    ("crc", 8, LEFT),
    ("notes", 0, LEFT),
)
_HEAD, _WIDTHS, _SIDES = zip(*_COLUMNS, strict=True)


class TextPrinter:
    """Tables for people. most: characters of a key or value, None: all."""

    def __init__(self, most: int | None = SHOWN) -> None:
        self._most = most
        self._columns: tuple[str, ...] = ()

    def file(self, file: LogFile, size: int) -> None:
        """Print the file's name, and the head of its table."""
        self._columns = ()
        print(f"{printable(str(file.path))}: {file.kind}{file.mark}, {size} bytes")
        if file.kind in BATCHED and size:
            print(f"  {fixed_columns(_HEAD, _WIDTHS, _SIDES)}")

    def batch(self, file: LogFile, batch: Batch) -> None:
        """Print a row."""
        del file
        sequences = producer = "-"
        if batch.header.producer_id != NO_PRODUCER_ID:
            producer = f"{batch.header.producer_id}:{batch.header.producer_epoch}"
        if batch.header.base_sequence >= 0:
            sequences = f"{batch.header.base_sequence}-{batch.last_sequence}"
        offsets = f"{batch.base_offset}-{batch.last_offset}"
        cells = (
            str(batch.position),
            str(batch.size),
            f"to {batch.last_offset}" if batch.is_message else offsets,
            "-" if batch.is_message else str(batch.header.count),
            time_text(batch.header.max_timestamp),
            batch.codec,
            "-" if batch.is_message else str(batch.header.leader_epoch),
            producer,
            sequences,
            f"{batch.header.crc:08x}",
            " ".join(_notes(batch)),
        )
        print(f"  {fixed_columns(cells, _WIDTHS, _SIDES)}")

    def record(self, file: LogFile, batch: Batch, record: Record, shown: Shown) -> None:
        """Print a line."""
        del file, batch
        if isinstance(shown, Decoded):
            text = decoded_words(shown, self._most)
        else:
            text = record_words(record, self._most)
            if shown is not None:
                text += f"  (not decoded: {printable(shown)})"
        print(f"    {record.offset}  {time_text(record.timestamp)}  {text}")

    def entry(self, file: LogFile, entry: Entry) -> None:
        """Print a row, with the head before the first one."""
        if file.kind in (Kind.QUORUM, Kind.DIRECTORY, Kind.CLEAN_STOP, Kind.PARTITION):
            for name, value in entry.items():
                print(f"  {printable(str(name))}: {printable(str(value))}")
            return
        cells = [_cell(name, value) for name, value in entry.items()]
        widths = [max(len(name), 23 if name == "timestamp" else 9) for name in entry]
        sides = [RIGHT] * len(cells)
        if self._columns != tuple(entry):
            self._columns = tuple(entry)
            head = [name.replace("_", " ") for name in entry]
            print(f"  {fixed_columns(head, widths, sides)}")
        print(f"  {fixed_columns(cells, widths, sides)}")

    def damage(self, file: LogFile, position: int | None, text: str) -> None:
        """Print a line."""
        del file
        where = "" if position is None else f" at position {position}"
        print(f"  DAMAGED{where}: {printable(text)}")


def _notes(batch: Batch) -> Iterator[str]:
    if not batch.is_valid:
        yield f"CRC-MISMATCH({batch.crc_found:08x})"
    if batch.header.is_transactional:
        yield "transactional"
    if batch.header.is_control:
        yield "control"
    if batch.header.is_log_append_time:
        yield "append-time"
    if batch.header.delete_horizon is not None:
        yield f"delete-horizon({time_text(batch.header.delete_horizon)})"
    if batch.header.magic < 2:
        yield f"magic-{batch.header.magic}"


def _cell(name: str, value: object) -> str:
    if value is None:
        return "-"
    return time_text(value) if name == "timestamp" and isinstance(value, int) else str(value)


# --- for programs


class JsonPrinter:
    """A line of JSON for each piece; the key `is` names what it is."""

    def file(self, file: LogFile, size: int) -> None:
        """Print a line with name, kind and size."""
        data = {"is": "file", "path": str(file.path), "kind": str(file.kind), "bytes": size}
        if file.offset >= 0:
            data["offset"] = file.offset
        if file.epoch >= 0:
            data["epoch"] = file.epoch
        self._print(data)

    def batch(self, file: LogFile, batch: Batch) -> None:
        """Print a line with every field of the header."""
        del file
        self._print({"is": "batch", **batch_data(batch)})

    def record(self, file: LogFile, batch: Batch, record: Record, shown: Shown) -> None:
        """Print a line with the record, decoded where it is one of Kafka's own."""
        del file
        data = {
            "is": "record",
            "offset": record.offset,
            "timestamp": record.timestamp,
            "sequence": batch.sequence_of(record),
            "key_size": _size(record.key),
            "value_size": _size(record.value),
            "headers": [[name, as_text(value)] for name, value in record.headers],
        }
        if isinstance(shown, Decoded):
            data |= {
                "type": shown.name,
                "number": shown.number,
                "key": shown.key,
                "version": shown.version,
                "value": shown.value,
            }
        else:
            data |= {"key": as_text(record.key), "value": as_text(record.value)}
            if shown is not None:
                data["not_decoded"] = shown
        self._print(data)

    def entry(self, file: LogFile, entry: Entry) -> None:
        """Print a line with the entry's fields."""
        del file
        self._print({"is": "entry", **entry})

    def damage(self, file: LogFile, position: int | None, text: str) -> None:
        """Print a line with position and text."""
        del file
        self._print({"is": "damage", "position": position, "text": text})

    @staticmethod
    def _print(document: Mapping[str, object]) -> None:
        print(dump_json(document))


def batch_data(batch: Batch) -> dict[str, object]:
    """Return the fields of a batch for JSON."""
    return {
        "position": batch.position,
        "bytes": batch.size,
        "magic": batch.header.magic,
        "base_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "records": None if batch.is_message else batch.header.count,
        "timestamp": batch.header.max_timestamp,
        "timestamp_type": "LogAppendTime" if batch.header.is_log_append_time else "CreateTime",
        "codec": batch.codec,
        "leader_epoch": batch.header.leader_epoch,
        "producer_id": batch.header.producer_id,
        "producer_epoch": batch.header.producer_epoch,
        "base_sequence": batch.header.base_sequence,
        "last_sequence": batch.last_sequence,
        "transactional": batch.header.is_transactional,
        "control": batch.header.is_control,
        "delete_horizon": batch.header.delete_horizon,
        "crc": batch.header.crc,
        "valid": batch.is_valid,
    }


def _size(content: bytes | None) -> int:
    return -1 if content is None else len(content)


def as_text(content: bytes | None) -> str | dict[str, str] | None:
    """Return bytes for JSON: their text, or an object with `base64` if they are no UTF-8."""
    if content is None:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(content).decode()}
