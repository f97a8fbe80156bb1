"""`trio-kafka log dump`: print what files of logs hold."""

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.cli import FAILED
from trio_kafka.cli.log.batches import Batch, Gap, read_batches
from trio_kafka.cli.log.decoders import (
    DECODERS,
    Decode,
    UndecodableError,
    decode_control,
    decoder_of,
)
from trio_kafka.cli.log.entries import DamagedFileError, read_entries
from trio_kafka.cli.log.places import LogFile, folders_of
from trio_kafka.cli.log.printers import BATCHED, JsonPrinter, Printer, Shown, TextPrinter
from trio_kafka.cli.log.words import SHOWN
from trio_kafka.cli.output import declare_json
from trio_kafka.errors import KafkaError
from trio_kafka.records.batch import Record
from trio_kafka.world.blocking_file import open_reader

LARGEST_OFFSET: Final = (1 << 63) - 1


@frozen(kw_only=True)
class Selection:
    """Options of a dump of a segment. most: characters of a key or value, None: all."""

    records: bool = False
    decoder: str = "auto"
    start: int = 0
    end: int = LARGEST_OFFSET
    max_bytes: int | None = None
    most: int | None = SHOWN


def declare(parser: ArgumentParser) -> None:
    declare_paths(parser)
    parser.add_argument("--records", action="store_true", help="show the records of each batch")
    parser.add_argument(
        "--decoder",
        choices=["auto", "none", *DECODERS],
        default="auto",
        help="internal topic whose records these are; auto: by the name of the directory",
    )
    parser.add_argument(
        "--from",
        dest="start",
        type=int,
        default=0,
        metavar="OFFSET",
        help="skip batches and records below this offset",
    )
    parser.add_argument(
        "--to",
        type=int,
        default=LARGEST_OFFSET,
        metavar="OFFSET",
        help="end before this offset",
    )
    parser.add_argument(
        "--max-bytes", type=int, metavar="BYTES", help="read no more of each segment"
    )
    parser.add_argument(
        "--full", action="store_true", help=f"show all of a value, not {SHOWN} characters"
    )
    declare_json(parser, "a line of JSON for each file, batch, record and entry")


def declare_paths(parser: ArgumentParser) -> None:
    """Declare the argument `paths`."""
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="a file of a log, a partition's directory, or a log directory",
    )


def dump(
    *,
    paths: Sequence[str],
    records: bool,
    decoder: str,
    start: int,
    to: int,
    max_bytes: int | None,
    full: bool,
    json: bool,
) -> int:
    """Print batches, records, entries of indexes, snapshots and checkpoints.

    Records of internal topics and of the metadata log are shown in words. No broker is needed; one
    may be running. Ends with 1 if a file is damaged: `trio-kafka log verify` says more.
    """
    selection = Selection(
        records=records,
        decoder=decoder,
        start=start,
        end=to,
        max_bytes=max_bytes,
        most=None if full else SHOWN,
    )
    printer: Printer = JsonPrinter() if json else TextPrinter(selection.most)
    damaged = False
    for folder in folders_of(paths):
        for file in folder.files:
            damaged |= dump_file(file, selection, printer)
    return FAILED if damaged else 0


def dump_file(file: LogFile, selection: Selection, printer: Printer) -> bool:
    """Show a file. Return whether it is damaged. A file that was deleted meanwhile is left out."""
    try:
        if file.kind in BATCHED:
            return _dump_batches(file, selection, printer)
        printer.file(file, file.path.stat().st_size)
        for entry in read_entries(file):
            printer.entry(file, entry)
    except FileNotFoundError:
        return False
    except DamagedFileError as error:
        printer.damage(file, error.position, str(error))
        return True
    except OSError as error:
        printer.damage(file, None, error.strerror or str(error))
        return True
    return False


def _dump_batches(file: LogFile, selection: Selection, printer: Printer) -> bool:
    damaged = False
    decode = decoder_of(selection.decoder, file.partition.topic if file.partition else None)
    with open_reader(file.path) as reader:
        printer.file(file, reader.size)
        for piece in read_batches(reader, end=selection.max_bytes):
            if isinstance(piece, Gap):
                zeros = "zeros" if piece.zeros else "bytes without a batch"
                text = f"{piece.end - piece.position} {zeros}: {piece.reason}"
                printer.damage(file, piece.position, text)
                damaged = True
                continue
            if piece.last_offset < selection.start:
                continue
            if not piece.is_message and piece.base_offset >= selection.end:
                break
            damaged |= not piece.is_valid
            printer.batch(file, piece)
            if selection.records:
                damaged |= _dump_records(file, piece, decode, selection=selection, printer=printer)
    return damaged


def _dump_records(
    file: LogFile, batch: Batch, decode: Decode | None, *, selection: Selection, printer: Printer
) -> bool:
    """Show the records of a batch. Return whether they are damaged."""
    try:
        for record in batch.records():
            if selection.start <= record.offset < selection.end:
                printer.record(file, batch, record, _decode(batch, record, decode))
    except KafkaError as error:
        printer.damage(file, batch.position, error.message or "")
        return True
    return False


def _decode(batch: Batch, record: Record, decode: Decode | None) -> Shown:
    if batch.header.is_control:
        decode = decode_control
    if decode is None:
        return None
    try:
        return decode(record)
    except UndecodableError as error:
        return str(error)
