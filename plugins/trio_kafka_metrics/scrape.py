"""The ASGI app of `/metrics`. Concurrent scrapes share one collection."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import trio
from attrs import Factory, define

from trio_kafka.plugin import Family
from trio_kafka_metrics.collection import Collection

if TYPE_CHECKING:
    from types import ModuleType

Send = Callable[[dict[str, Any]], Awaitable[None]]
_PLAIN: Final = "text/plain; charset=utf-8"


@define(eq=False)
class _Making:
    """A text in the making. text: None if its maker left first."""

    over: trio.Event = Factory(trio.Event)
    text: list[bytes] | None = None


class Scrapes:
    """ASGI app of `/metrics`.

    run_in_thread: World's. process: include the system's process metrics.
    """

    def __init__(
        self,
        collection: Collection,
        run_in_thread: Callable[..., Awaitable[Any]],
        *,
        process: bool,
    ) -> None:
        self._collection = collection
        self._run_in_thread = run_in_thread
        self._process = process
        self._exposition: ModuleType | None = None
        self._loading = trio.Lock()
        self._makings: dict[str, _Making] = {}  # by content type

    async def app(
        self, scope: Mapping[str, Any], receive: Callable[[], Awaitable[Any]], send: Send
    ) -> None:
        """Serve GET at the mount path."""
        del receive
        if scope["path"].removeprefix(scope["root_path"]).strip("/"):
            await _answer(send, 404, _PLAIN, [b"metrics are at " + scope["root_path"].encode()])
            return
        if scope["method"] not in ("GET", "HEAD"):
            await _answer(send, 405, _PLAIN, [b"want GET"], (b"allow", b"GET, HEAD"))
            return
        accept = ",".join(
            value.decode("latin-1") for name, value in scope["headers"] if name == b"accept"
        )
        exposition = self._exposition or await self._load()
        form = exposition.Form(accept)
        pieces = await self._text(form)
        if scope["method"] == "HEAD":
            pieces = []
        await _answer(send, 200, form.content_type, pieces, (b"vary", b"accept"))

    async def _text(self, form: Any) -> list[bytes]:
        """Return the text in the making, or make one; if its maker leaves, make another."""
        kind = form.content_type
        while (making := self._makings.get(kind)) is not None:
            await making.over.wait()
            if making.text is not None:
                return making.text
        making = self._makings[kind] = _Making()
        try:
            families = await self._look()
            text: list[bytes] = await self._collection.in_slices(form.write(families))
            making.text = text
        finally:
            del self._makings[kind]
            making.over.set()
        return text

    async def _look(self) -> list[Family]:
        families = await self._collection.look()
        if self._process and self._exposition is not None:
            families += await self._run_in_thread(self._exposition.process_families)
        return families

    async def _load(self) -> "ModuleType":
        """Import prometheus_client on the first scrape, in a thread, like hypercorn."""
        async with self._loading:
            if self._exposition is None:
                self._exposition = await self._run_in_thread(_import)
            return self._exposition


def _import() -> "ModuleType":
    # Not by import_module: a reload imports this package under another name.
    from trio_kafka_metrics import exposition  # noqa: PLC0415 - see `_load`

    return exposition


async def _answer(
    send: Send, status: int, kind: str, pieces: list[bytes], *headers: tuple[bytes, bytes]
) -> None:
    all_headers = [(b"content-type", kind.encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": all_headers})
    for piece in _joined(pieces):
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def _joined(pieces: list[bytes], size: int = 64 << 10) -> Iterator[bytes]:
    """Join pieces to about a size, lazily."""
    waiting, length = list[bytes](), 0
    for piece in pieces:
        waiting.append(piece)
        length += len(piece)
        if length >= size:
            yield b"".join(waiting)
            waiting, length = [], 0
    if waiting:
        yield b"".join(waiting)
