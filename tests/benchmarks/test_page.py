"""The page of results, when one row of it is measured again."""

from pathlib import Path

from tests.benchmarks import page
from tests.benchmarks.rows.registry import all_rows
from tests.project.tree import ROOT


def test_row_that_is_measured_again_replaces_only_its_own_section(tmp_path: Path) -> None:
    kept = tmp_path / "page.md"
    page.write(kept, "  ours theirs", {"b": "  x 1 2", "a": "  y 3 4"}, load=0.5, runs=3)
    page.write(kept, "  ours theirs", {"b": "  x 5 6"}, load=0.25, runs=5)

    sections = page.sections_of(kept.read_text())
    assert list(sections) == ["a", "b"]
    assert "best of 3" in sections["a"]
    assert "load before 0.50\n\n```text\n  ours theirs\n  y 3 4\n```" in sections["a"]
    assert "best of 5" in sections["b"]
    assert sections["b"].endswith("  x 5 6\n```")
    assert kept.read_text().startswith(page.HEAD)


def test_benchmarks_page_has_a_section_for_every_row_with_bounds() -> None:
    kept = page.sections_of((ROOT / "docs" / "reference" / "benchmarks.md").read_text())
    rows = all_rows()

    assert kept.keys() <= rows.keys()
    assert {name for name, row in rows.items() if row.bounds} <= kept.keys()
