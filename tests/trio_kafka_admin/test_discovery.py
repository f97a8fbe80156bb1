"""Which pages there are."""

from pathlib import Path

from tests.project.tree import ROOT
from trio_kafka_admin.discovery import all_pages, page_names

PAGES = ROOT / "admin_ui" / "trio_kafka_admin" / "pages"


def test_every_module_of_pages_is_a_page_of_its_name() -> None:
    modules = {Path(path).stem for path in PAGES.glob("*.py")} - {"__init__"}

    assert {page.name for page in all_pages()} == modules == set(page_names())


def test_pages_stand_in_their_order() -> None:
    orders = [page.order for page in all_pages()]

    assert orders == sorted(set(orders))
    assert all_pages()[0].name == "overview"


def test_a_page_is_told_in_a_sentence() -> None:
    assert [page.name for page in all_pages() if not page.about.endswith(".")] == []
