"""The pages of the app: its own and those that other plugins contribute at the moment."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final

import trio

from trio_kafka.introspect.log import get_logger
from trio_kafka.plugin import KafkaError, RefusedError
from trio_kafka.plugin_host.pages import AdminPage, AdminPages
from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.markup import Html
from trio_kafka_admin.page import Data, Page, Place
from trio_kafka_admin.query import Query
from trio_kafka_http.asgi_json import HttpError

_logger: Final = get_logger(__name__)
_ANSWERS: Final = (HttpError, KafkaError, RefusedError)
_A_STEP: Final = 8  # pieces between two checkpoints, as in `responses`
_PARTS: Final = {"name": str, "title": str, "about": str, "order": int}


class PageRegistry:
    """Loaded pages. owner: name of the plugin that the app belongs to."""

    def __init__(
        self, pages: AdminPages, run_in_thread: Callable[..., Awaitable[object]], owner: str
    ) -> None:
        self._pages = pages
        self._run_in_thread = run_in_thread
        self._owner = owner
        self._loading = trio.Lock()

    async def listed(self) -> list[Page]:
        """Load new pages, and return all that the navigation has, in their order."""
        await self._load()
        loaded: list[Page] = [page.page for page in self._pages if page.page is not None]
        shown = [page for page in loaded if page.is_listed]
        return sorted(shown, key=lambda page: (page.order, page.name))

    async def find(self, name: str) -> AdminPage | None:
        """Return a loaded page, or None. Raises HttpError if it failed to load."""
        await self._load()
        entry = self._pages.find(name)
        if entry is not None and entry.failed:
            raise HttpError(500, f"page {name} of plugin {entry.owner.name}: {entry.failed}")
        return entry

    async def read(self, entry: AdminPage, reader: BrokerReader, query: Query) -> Data:
        """Read the data of a page. Raises HttpError, KafkaError, RefusedError."""
        try:
            with entry.guarded(*_ANSWERS):
                data: Data = await entry.page.read(reader, query)
                return data
        except _ANSWERS:
            raise
        except Exception as error:
            raise self._failure(entry, error) from error

    async def show(self, entry: AdminPage, data: Data, place: Place) -> Iterator[Html]:
        """Render the pieces of a page. Those of another plugin are all rendered before the first is
        sent, so that its failure becomes an error page. Raises HttpError.
        """
        if entry.owner.name == self._owner:
            await trio.lowlevel.checkpoint()
            return iter(entry.page.show(data, place))
        pieces = list[Html]()
        try:
            with entry.guarded():
                for number, piece in enumerate(entry.page.show(data, place)):
                    pieces.append(piece)
                    if not number % _A_STEP:
                        await trio.lowlevel.checkpoint()
        except Exception as error:
            raise self._failure(entry, error) from error
        return iter(pieces)

    def ask(self, entry: AdminPage, query: Query, place: Place) -> Html:
        """Render the controls above the data, such as a form. Raises HttpError."""
        if entry.page.ask is None:
            return Html("")
        try:
            with entry.guarded(*_ANSWERS):
                controls: Html = entry.page.ask(query, place)
                return controls
        except _ANSWERS:
            raise
        except Exception as error:
            raise self._failure(entry, error) from error

    async def _load(self) -> None:
        new = [entry for entry in self._pages if entry.page is None and not entry.failed]
        if not new:
            await trio.lowlevel.checkpoint()
            return
        async with self._loading:
            for entry in new:
                if entry.page is not None or entry.failed:
                    continue
                try:
                    with entry.guarded():
                        entry.page = _checked(entry, await self._run_in_thread(entry.load))
                except Exception as error:  # noqa: BLE001 - the plugin's failure is logged
                    entry.failed = f"it cannot be loaded: {error!r}"
                    self._log(entry, error)

    def _failure(self, entry: AdminPage, error: Exception) -> HttpError:
        self._log(entry, error)
        return HttpError(500, f"page {entry.name} of plugin {entry.owner.name} failed; see the log")

    def _log(self, entry: AdminPage, error: Exception) -> None:
        _logger.error("page failed", page=entry.name, plugin=entry.owner.name, exc_info=error)


def _checked(entry: AdminPage, page: Any) -> Page:
    """Return the page that `load` returned. Raises TypeError if it is no page of this name.

    Its class may come from another import of this package, so only its attributes are checked.
    """
    for part, kind in _PARTS.items():
        if not isinstance(getattr(page, part, None), kind):
            raise TypeError(f"load returned {page!r}, want a Page with {part}: {kind.__name__}")
    if page.name != entry.name:
        raise TypeError(f"load returned page {page.name!r}, want {entry.name!r}")
    checked: Page = page
    return checked
