"""`trio-kafka log dump`, held against what Kafka's own tool prints of the same files."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.log.kit import (
    ARCHIVES,
    PRINTED,
    expected,
    extract,
    kafkas_pieces,
    records,
    run,
    run_json,
    three_batches,
    write_log,
)
from tests.records.kit import encode_batch
from tests.records.test_legacy import NAMES, SETS, expected_lines
from trio_kafka.cli import main
from trio_kafka.cli.log.decoders import HIDDEN
from trio_kafka.records.batch import Record


def by_file(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The pieces of each file, without empty ones."""
    result: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["is"] == "file":
            name = Path(row["path"]).name
        else:
            result.setdefault(name, []).append(row)
    return result


def same(kafkas: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """Our piece, with the fields that Kafka's has, in its form."""
    shown = dict(ours)
    if "headers" in shown:
        shown["headers"] = [name for name, _ in shown["headers"]]
    for name in ("key", "value"):
        if isinstance(shown.get(name), dict) and "base64" in shown[name]:
            shown[name] = kafkas.get(name)  # it prints other bytes as question marks
    if HIDDEN in str(shown):
        shown["value"] = {
            name: kafkas["value"][name] if value == HIDDEN else value
            for name, value in shown["value"].items()
        }
    if "type" in kafkas and shown.get("type", "").upper() == kafkas["type"].upper():
        shown["type"] = kafkas["type"]
    return {name: shown.get(name) for name in kafkas}


@pytest.mark.parametrize("archive", PRINTED)
def test_dump_shows_the_same_content_as_kafkas_dump_tool(
    archive: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = extract(archive, tmp_path)
    kafkas: dict[str, list[dict[str, Any]]] = {}
    for name, piece in kafkas_pieces(expected(archive)):
        zeros = piece["is"] == "entry" and not any(piece[key] for key in piece if key != "is")
        if not zeros:  # it shows the first entry of a file of zeros
            kafkas.setdefault(name, []).append(piece)

    status, rows = run_json(capsys, "dump", str(folder), "--records")

    ours = by_file(rows)
    assert status == 0
    assert kafkas
    for name, pieces in kafkas.items():
        assert len(pieces) == len(ours[name]), name
        for want, result in zip(pieces, ours[name], strict=True):
            reference = without_batch(want) if result.get("last_offset") == -1 else want
            assert same(reference, result) == reference, name


def without_batch(producer: dict[str, Any]) -> dict[str, Any]:
    """A producer whose last batch is a marker: Kafka prints nothing of it."""
    return {name: value for name, value in producer.items() if "sequence" not in name}


@pytest.mark.parametrize("archive", ARCHIVES)
def test_dump_of_every_archive_shows_no_damage(
    archive: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, lines = run(capsys, "dump", str(extract(archive, tmp_path)), "--records")

    assert status == 0
    assert len(lines) > 5
    assert not [line for line in lines if "DAMAGED" in line or "not decoded" in line]


@pytest.mark.parametrize("name", NAMES)
def test_messages_of_old_formats_are_dumped_and_verified(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write_log(tmp_path / "t-0", 100, [SETS[name]])

    status, rows = run_json(capsys, "dump", str(log), "--records")
    verified, lines = run(capsys, "verify", str(log.parent))

    assert (status, verified) == (0, 0), lines
    shown = [
        f"offset {row['offset']} timestamp {row['timestamp']}"
        f" key {row['key'] or 'null'} value {row['value'] or 'null'}"
        for row in rows
        if row["is"] == "record"
    ]
    assert shown == expected_lines(name)


def test_records_of_internal_topics_are_shown_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for archive in ("consumer_offsets", "transaction_state", "dynamic_quorum"):
        extract(archive, tmp_path)

    _, lines = run(capsys, "dump", str(tmp_path), "--records")

    text = "\n".join(lines)
    assert "offset commit group=sample-tx-group topic=plain partition=0: offset=7" in text
    assert "transaction log transactional_id=sample-tx: producer_id=5" in text
    assert "transaction_status='complete commit'" in text
    assert "kraft voters: version=0 voters=[(voter_id=1" in text
    assert "config: resource_type='broker' resource_name='' name=min.insync.replicas" in text
    assert "stored_key=[hidden]" in text


def test_dump_selects_batches_and_records_by_offset(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write_log(tmp_path / "t-0", 0, three_batches())

    _, rows = run_json(capsys, "dump", str(log), "--records", "--from", "1", "--to", "3")

    assert [row["base_offset"] for row in rows if row["is"] == "batch"] == [0, 2]
    assert [row["offset"] for row in rows if row["is"] == "record"] == [1, 2]


def test_dump_stops_after_the_given_number_of_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, *others = three_batches()
    log = write_log(tmp_path / "t-0", 0, [first, *others])

    _, rows = run_json(capsys, "dump", str(log), "--max-bytes", str(len(first) + 1))

    assert [row["base_offset"] for row in rows if row["is"] == "batch"] == [0, 2]


def test_long_values_are_truncated_unless_full_is_requested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write_log(tmp_path / "t-0", 0, [encode_batch(records("x" * 5000))])

    _, cut = run(capsys, "dump", str(log), "--records")
    _, full = run(capsys, "dump", str(log), "--records", "--full")

    assert "(5000 bytes)" in cut[-1]
    assert len(cut[-1]) < 300
    assert "x" * 5000 in full[-1]


def test_terminal_control_characters_of_records_are_escaped_in_the_dump(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = Record(key=b"\x1b[2J", value="\u202e\n".encode(), headers=[("\x1b]0;", b"\x07")])
    log = write_log(tmp_path / "t-0", 0, [encode_batch([record])])

    _, lines = run(capsys, "dump", str(log), "--records")

    assert "\x1b" not in "".join(lines)
    assert "\u202e" not in "".join(lines)
    assert len(lines) == 4


def test_damage_is_shown_at_its_position_and_later_batches_are_dumped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, third = three_batches()
    log = write_log(tmp_path / "t-0", 0, [first, b"\xff" * 100, second, third[:-1]])

    status, rows = run_json(capsys, "dump", str(log), "--records")

    assert status == 1
    assert [row["base_offset"] for row in rows if row["is"] == "batch"] == [0, 2]
    damage = [row for row in rows if row["is"] == "damage"]
    assert [row["position"] for row in damage] == [
        len(first),
        len(first) + 100 + len(second),
    ]


def test_batch_with_a_wrong_crc_is_marked_in_the_dump(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, _ = three_batches()
    broken = bytearray(first)
    broken[-1] ^= 1
    log = write_log(tmp_path / "t-0", 0, [bytes(broken), second])

    status, lines = run(capsys, "dump", str(log))

    assert status == 1
    assert ["CRC-MISMATCH" in line for line in lines] == [False, False, True, False]


def test_records_that_the_decoder_refuses_are_shown_undecoded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write_log(tmp_path / "__consumer_offsets-0", 0, [encode_batch(records("v"))])

    _, auto = run_json(capsys, "dump", str(log), "--records")
    _, none = run_json(capsys, "dump", str(log), "--records", "--decoder", "none")

    assert auto[-1]["value"] == none[-1]["value"] == "v"
    assert "not_decoded" in auto[-1]
    assert "not_decoded" not in none[-1]


def test_decoder_can_be_named_for_a_renamed_partition_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = extract("share_group_state", tmp_path) / "__share_group_state-0"
    renamed = folder.rename(tmp_path / "copy")

    _, rows = run_json(capsys, "dump", str(renamed), "--records", "--decoder", "share")

    assert [row["type"] for row in rows if row["is"] == "record"] == [
        "ShareSnapshot",
        "ShareUpdate",
    ]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("missing", "No such file or directory"),
        ("other.txt", "not the name of a file of a log"),
        (".", "no file of a log is in it"),
    ],
)
def test_path_without_a_log_file_is_refused(
    path: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.txt").write_text("x")

    status = main(["log", "dump", str(tmp_path / path)])

    assert status == 1
    assert text in capsys.readouterr().err


def test_dump_json_has_one_object_per_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, lines = run(capsys, "dump", str(extract("txn", tmp_path)), "--json", "--records")

    assert {json.loads(line)["is"] for line in lines} == {"file", "batch", "record", "entry"}


def test_dump_ends_silently_when_the_reader_closes_the_pipe(tmp_path: Path) -> None:
    write_log(tmp_path / "t-0", 0, [encode_batch(records("x" * 100), n) for n in range(5000)])
    command = [sys.executable, "-m", "trio_kafka", "log", "dump", str(tmp_path), "--records"]

    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        error = process.stderr.read()
        status = process.wait(timeout=60)

    assert error == ""
    assert status == 141
