import json
from pathlib import Path

import pytest

from tests.cli.log.kit import records, write_log
from tests.records.kit import encode_batch
from trio_kafka.cli.log.batches import Batch, read_batches
from trio_kafka.cli.log.decoders import Decoded
from trio_kafka.cli.log.places import Kind, LogFile
from trio_kafka.cli.log.printers import JsonPrinter, Printer, TextPrinter, as_text
from trio_kafka.records.batch import Record
from trio_kafka.world.blocking_file import open_reader

FILE = LogFile(path=Path("/d/t-0/00000000000000000000.log"), kind=Kind.SEGMENT, offset=0)


def first_batch(folder: Path, **fields: int) -> Batch:
    with open_reader(write_log(folder, 0, [encode_batch(records("a"), **fields)])) as reader:  # type: ignore[arg-type]
        [piece] = read_batches(reader)
    assert isinstance(piece, Batch)
    return piece


def printed(printer: Printer, batch: Batch) -> None:
    printer.file(FILE, 100)
    printer.batch(FILE, batch)
    printer.record(FILE, batch, Record(offset=3, timestamp=0, value=b"v"), None)
    printer.record(FILE, batch, Record(offset=4, timestamp=0), "why not")
    printer.record(FILE, batch, Record(offset=5, timestamp=0), Decoded(name="NoOp", number=1))
    printer.entry(FILE, {"timestamp": 0, "offset": None})
    printer.damage(FILE, 7, "bad")
    printer.damage(FILE, None, "worse")


def test_text_printer_prints_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    batch = first_batch(tmp_path, append_time_ms=5, delete_horizon_ms=9, leader_epoch=4)

    printed(TextPrinter(), batch)

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{FILE.path}: segment, 100 bytes"
    assert lines[1].split()[:3] == ["position", "bytes", "offsets"]
    assert lines[2].split()[2] == "0-0"
    assert lines[2].endswith("append-time delete-horizon(1970-01-01 00:00:00.009)")
    assert lines[3].split() == ["3", "1970-01-01", "00:00:00.000", "key=null", "value='v'"]
    assert lines[4].endswith("(not decoded: why not)")
    assert lines[5].endswith("no op : deleted")
    assert lines[7].split() == ["1970-01-01", "00:00:00.000", "-"]
    assert lines[8:] == ["  DAMAGED at position 7: bad", "  DAMAGED: worse"]


def test_json_printer_prints_one_object_per_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed(JsonPrinter(), first_batch(tmp_path, producer_id=7, base_sequence=1))

    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["is"] for row in rows] == [
        "file",
        "batch",
        "record",
        "record",
        "record",
        "entry",
        "damage",
        "damage",
    ]
    assert rows[1]["producer_id"] == 7
    assert rows[2]["value"] == "v"
    assert rows[3]["not_decoded"] == "why not"
    assert rows[4]["type"] == "NoOp"
    assert rows[6] == {"is": "damage", "position": 7, "text": "bad"}


def test_bytes_that_are_not_utf_8_are_printed_as_base64() -> None:
    assert as_text(None) is None
    assert as_text(b"abc") == "abc"
    assert as_text(b"\xff") == {"base64": "/w=="}
