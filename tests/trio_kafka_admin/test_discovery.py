"""Which pages there are."""

from pathlib import Path

from tests.project.tree import ROOT
from trio_kafka_admin.discovery import all_pages, page_names

PAGES = ROOT / "admin_ui" / "trio_kafka_admin" / "pages"


def test_every_module_in_the_pages_folder_is_a_page_with_the_module_name() -> None:
    modules = {Path(path).stem for path in PAGES.glob("*.py")} - {"__init__"}

    assert {page.name for page in all_pages()} == modules == set(page_names())


def test_pages_are_sorted_by_their_unique_order() -> None:
    orders = [page.order for page in all_pages()]

    assert orders == sorted(set(orders))
    assert all_pages()[0].name == "overview"


def test_description_of_each_page_ends_with_a_full_stop() -> None:
    assert [page.name for page in all_pages() if not page.about.endswith(".")] == []
