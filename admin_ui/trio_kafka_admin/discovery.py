"""The admin UI's own pages: the modules in `pages`, imported on first use."""

import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trio_kafka_admin.page import Page

_PAGES = f"{__package__}.pages"  # a generation of a plugin has a private name


def page_names() -> list[str]:
    """Return the names of the modules; a page has the name of its module."""
    folder = f"{__file__.rpartition('/')[0]}/pages"
    return [module.name for module in pkgutil.iter_modules([folder])]


def load_page(name: str) -> "Page":
    """Import a page. Reads files: call it in a thread."""
    page: Page = importlib.import_module(f"{_PAGES}.{name}").PAGE
    return page


def all_pages() -> "tuple[Page, ...]":
    """Return all pages in their order; the app shows the first at its root."""
    return tuple(sorted(map(load_page, page_names()), key=lambda page: page.order))
