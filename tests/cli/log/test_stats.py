from pathlib import Path

import pytest

from tests.cli.log.kit import extract, run, run_json


def test_stats_shows_one_row_per_partition_and_a_line_of_totals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for archive in ("txn", "zstd"):
        extract(archive, tmp_path)

    status, lines = run(capsys, "stats", str(tmp_path))

    assert status == 0
    assert [line.split()[-1] for line in lines[:3]] == ["partition", "txn-0", "zstd-0"]
    assert lines[1].split()[:5] == ["2", "2.0", "KiB", "11", "34"]
    assert lines[3] == "2 partitions, 3 segments, 2.9 KiB, 15 batches, 74 records"


def test_stats_with_records_adds_a_line_about_record_contents(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, lines = run(capsys, "stats", str(extract("zstd", tmp_path)), "--records")

    assert "content 1.3 KiB (stored/content 0.75)" in lines[2]
    assert "8 without key" in lines[2]


def test_stats_json_has_one_line_per_partition_and_one_for_the_totals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, rows = run_json(capsys, "stats", str(extract("txn", tmp_path)), "--records")

    assert [row["is"] for row in rows] == ["partition", "totals"]
    assert rows[0]["partition"] == "txn-0"
    assert rows[0]["records"] == rows[1]["records"] == 34
    assert rows[0]["content"]["null_keys"] == 5
