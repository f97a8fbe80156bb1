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
        self, pages: AdminPages, run_in_thread: Callable[..., Awaitable[Any]], owner: str
    ) -> None:
        self._pages = pages
        self._run_in_thread = run_in_thread
        self._owner = owner
        self._loading = trio.Lock()

    async def listed(self) -> list[Page]:
        """Load new pages, and return all that can be shown, in their order."""
        await self._load()
        found: list[Page] = [one.page for one in self._pages if one.page is not None]
        return sorted(found, key=lambda page: (page.order, page.name))

    async def find(self, name: str) -> AdminPage | None:
        """Return a loaded page, or None. Raises HttpError if it failed to load."""
        await self._load()
        found = self._pages.find(name)
        if found is not None and found.failed:
            raise HttpError(500, f"page {name} of plugin {found.owner.name}: {found.failed}")
        return found

    async def read(self, one: AdminPage, reader: BrokerReader, query: Query) -> Data:
        """Read the data of a page. Raises HttpError, KafkaError, RefusedError."""
        try:
            with one.guarded(*_ANSWERS):
                data: Data = await one.page.read(reader, query)
                return data
        except _ANSWERS:
            raise
        except Exception as error:
            raise self._told(one, error) from error

    async def show(self, one: AdminPage, data: Data, place: Place) -> Iterator[Html]:
        """Render the pieces of a page. Those of another plugin are all rendered before the first is
        sent, so that its failure becomes an error page. Raises HttpError.
        """
        if one.owner.name == self._owner:
            await trio.lowlevel.checkpoint()
            return iter(one.page.show(data, place))
        pieces = list[Html]()
        try:
            with one.guarded():
                for number, piece in enumerate(one.page.show(data, place)):
                    pieces.append(piece)
                    if not number % _A_STEP:
                        await trio.lowlevel.checkpoint()
        except Exception as error:
            raise self._told(one, error) from error
        return iter(pieces)

    def ask(self, one: AdminPage, query: Query, place: Place) -> Html:
        """Render what stands above the data, such as a form. Raises HttpError."""
        if one.page.ask is None:
            return Html("")
        try:
            with one.guarded(*_ANSWERS):
                asked: Html = one.page.ask(query, place)
                return asked
        except _ANSWERS:
            raise
        except Exception as error:
            raise self._told(one, error) from error

    async def _load(self) -> None:
        new = [one for one in self._pages if one.page is None and not one.failed]
        if not new:
            await trio.lowlevel.checkpoint()
            return
        async with self._loading:
            for one in new:
                if one.page is not None or one.failed:
                    continue
                try:
                    with one.guarded():
                        one.page = _checked(one, await self._run_in_thread(one.load))
                except Exception as error:  # noqa: BLE001 - the plugin's failure is logged
                    one.failed = f"it cannot be loaded: {error!r}"
                    self._log(one, error)

    def _told(self, one: AdminPage, error: Exception) -> HttpError:
        self._log(one, error)
        return HttpError(500, f"page {one.name} of plugin {one.owner.name} failed; see the log")

    def _log(self, one: AdminPage, error: Exception) -> None:
        _logger.error("page failed", page=one.name, plugin=one.owner.name, exc_info=error)


def _checked(one: AdminPage, page: Any) -> Page:
    """Return the page that `load` returned. Raises TypeError if it is no page of this name.

    Its class may come from another import of this package, so only its attributes are checked.
    """
    for part, kind in _PARTS.items():
        if not isinstance(getattr(page, part, None), kind):
            raise TypeError(f"load returned {page!r}, want a Page with {part}: {kind.__name__}")
    if page.name != one.name:
        raise TypeError(f"load returned page {page.name!r}, want {one.name!r}")
    found: Page = page
    return found
