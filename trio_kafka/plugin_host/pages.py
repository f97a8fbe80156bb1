"""Pages of the admin UI by name: plugins contribute them, and the plugin that shows them reads.

The core knows no HTML. A page is what its plugin's `load` returns, and only the admin UI calls it:
in a thread, when a browser first asks. See `trio_kafka_admin.page.Page`.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.plugin_host.guard import Owner, PluginError, contained

_NAME: Final = re.compile(r"[a-z][a-z0-9-]*")
# Addresses of the admin UI's own.
_RESERVED: Final = frozenset({"api", "static"})


class PageError(Exception):
    """A page cannot have this name."""


@define(eq=False)
class AdminPage:
    """One contributed page. page: what `load` returned. failed: why it cannot be shown."""

    name: str
    load: Callable[[], Any]
    owner: Owner
    page: Any = field(default=None, init=False)
    failed: str = field(default="", init=False)

    @contextmanager
    def in_hands(self, *answers: type[Exception]) -> Iterator[None]:
        """Run the plugin's code: a request in its hands. An exception is the plugin's failure,
        unless its class is one of `answers`; PluginError if the plugin goes meanwhile.
        """
        where = f"page {self.name}"
        finished = False
        try:
            with self.owner.in_hand.held():
                yield
                finished = True
        except answers:
            raise
        except BaseException as error:
            raise contained(error, self.owner, where) from error
        if not finished:
            raise PluginError(f"plugin {self.owner.name}: {where} was cut off: the plugin goes")


@define(eq=False)
class AdminPages:
    """All pages of one broker."""

    _pages: dict[str, AdminPage] = field(factory=dict, init=False)

    def swap(self, leaving: Iterable[AdminPage], coming: Iterable[AdminPage]) -> None:
        """Replace some pages by others in one step. Raises PageError, and then changes nothing."""
        pages = dict(self._pages)
        for page in leaving:
            if pages.get(page.name) is page:
                del pages[page.name]
        for page in coming:
            if page.name in pages:
                other = pages[page.name].owner.name
                raise PageError(f"plugin {other} has a page {page.name} already")
            pages[page.name] = page
        self._pages = pages

    def find(self, name: str) -> AdminPage | None:
        return self._pages.get(name)

    def __iter__(self) -> Iterator[AdminPage]:
        return iter(list(self._pages.values()))


def check_page_name(name: str) -> None:
    """Raises PageError for a name that is no part of an address, or that the admin UI uses."""
    if not _NAME.fullmatch(name):
        raise PageError(f"page {name!r}: want a name of a-z, 0-9 and -, a letter first")
    if name in _RESERVED:
        raise PageError(f"page {name!r}: the admin UI itself uses this address")
