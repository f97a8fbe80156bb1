"""Which pages there are: those of the modules in `pages`."""

import importlib
import pkgutil

from trio_kafka_admin import pages
from trio_kafka_admin.page import Page


def all_pages() -> tuple[Page, ...]:
    """In their order; the first is what the app shows at its root."""
    # By the name that the package has here: a generation of a plugin has a private one.
    names = [one.name for one in pkgutil.iter_modules(pages.__path__, f"{pages.__name__}.")]
    found: list[Page] = [importlib.import_module(name).PAGE for name in names]
    return tuple(sorted(found, key=lambda page: page.order))
