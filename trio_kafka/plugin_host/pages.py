"""Table of admin UI pages by name: plugins contribute them, the admin UI plugin shows them.

The core knows no HTML. The admin UI alone calls a page's `load`: in a thread, when a browser first
asks. See `trio_kafka_admin.page.Page`.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.plugin_host.guard import Owner, held

_NAME: Final = re.compile(r"[a-z][a-z0-9-]*")
# Addresses that the admin UI uses itself.
_RESERVED: Final = frozenset({"api", "static"})


class PageError(Exception):
    """Name that a page cannot have."""


@define(eq=False)
class AdminPage:
    """Contributed page. page: what `load` returned. failed: why it cannot be shown."""

    name: str
    load: Callable[[], object]
    owner: Owner
    page: Any = field(default=None, init=False)
    failed: str = field(default="", init=False)

    def guarded(self, *answers: type[Exception]) -> AbstractContextManager[None]:
        """Return a block for code of the plugin: one request in flight.

        An exception fails the plugin unless its class is in `answers`. Raises PluginError if the
        plugin stops meanwhile.
        """
        return held(self.owner, f"page {self.name}", *answers)


@define(eq=False)
class AdminPages:
    """All pages of one broker; `generation` grows with every change."""

    generation: int = field(default=0, init=False)
    _pages: dict[str, AdminPage] = field(factory=dict, init=False)

    def swap(self, leaving: Iterable[AdminPage], coming: Iterable[AdminPage]) -> None:
        """Replace pages in one step. Raises PageError, and then changes nothing."""
        pages = dict(self._pages)
        for page in leaving:
            if pages.get(page.name) is page:
                del pages[page.name]
        for page in coming:
            if page.name in pages:
                other = pages[page.name].owner.name
                raise PageError(f"page {page.name} already belongs to plugin {other}")
            pages[page.name] = page
        self._pages = pages
        self.generation += 1

    def find(self, name: str) -> AdminPage | None:
        return self._pages.get(name)

    def __iter__(self) -> Iterator[AdminPage]:
        return iter(list(self._pages.values()))


def check_page_name(name: str) -> None:
    """Raise PageError for a name that does not fit an address or that the admin UI uses."""
    if not _NAME.fullmatch(name):
        raise PageError(f"page {name!r}: want a name of a-z, 0-9 and - that begins with a letter")
    if name in _RESERVED:
        raise PageError(f"page {name!r}: the admin UI uses this address itself")
