"""Every file of a data directory, damaged in every way, has the outcome that the table says."""

from pathlib import Path

import pytest

from tests.broker.damage_table import ALSO, DAMAGES, META, ROWS, document
from tests.broker.damaged import start_with, written

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "data-directory.md"
CASES = [pytest.param(row, name, id=f"{row.file}: {name}") for row in ROWS for name in row.outcomes]


def damaged(row, name):
    files = dict(written(clean=row.clean))
    content = files.pop(row.path, b"0\n1\nt 0 4\n")
    changed = DAMAGES[name](content)
    return files if changed is None else files | {row.path: changed}


@pytest.mark.parametrize(("row", "name"), CASES)
def test_start_on_a_damaged_file_has_the_outcome_of_the_damage_table(row, name, caplog):
    outcome = row.outcomes[name]

    seen = start_with(damaged(row, name), caplog)

    for part in outcome.refused:
        assert part in seen.refused
    assert bool(outcome.refused) is bool(seen.refused), seen.refused
    if not outcome.refused:
        # In a table of exceptions: silence is wanted too.
        assert set(outcome.logged) <= set(seen.logged)
        assert set(seen.logged) <= {*outcome.logged, *ALSO} or "one byte" in name
        assert [number for number in range(12) if number not in seen.records["t"]] == [
            *outcome.lost
        ]
        assert seen.errors["t"] == outcome.error
        assert seen.records["u"] == [0, 1]
        assert seen.aborted == outcome.aborted


def test_data_directory_page_contains_the_damage_table():
    assert PAGE.read_text() == document(), (
        "python -m tests.broker.damage_table > docs/reference/data-directory.md"
    )


def test_missing_metadata_log_is_refused_and_not_formatted_again(caplog):
    files = {path: content for path, content in written(clean=True).items() if META not in path}

    seen = start_with(files, caplog)

    assert "/data/__cluster_metadata-0 has no log, want offsets up to 32" in seen.refused


def test_checkpointed_start_offset_above_the_log_end_deletes_no_segment(caplog):
    files = dict(written(clean=True)) | {"log-start-offset-checkpoint": b"0\n1\nt 0 999999\n"}

    seen = start_with(files, caplog)

    assert seen.records["t"] == list(range(12))
    assert "start offset above the log's end ignored" in seen.logged
