"""Pages of the last 15 minutes, so that a viewer can look at one as it was.

A page is kept when it is rendered for a viewer, at most once in `EVERY_S`, in its compressed form;
nothing is kept without a viewer. Each principal has data of its own: those that it could read.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any, Final

import trio
from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.strict_json import parse_json
from trio_kafka_admin.compressed_body import CompressedBody, compress
from trio_kafka_http.asgi_json import HttpError, json_pieces

EVERY_S: Final = 5.0
KEPT_S: Final = 15 * 60.0
Data = Mapping[str, Any]
"""Data of a page, see `page`."""


@frozen
class _Kept:
    """Data of a page as JSON. at: when it was read, by `trio.current_time()`."""

    at: float
    body: CompressedBody


@define(eq=False)
class Past:
    """Data of one page in the last `KEPT_S`, the oldest first."""

    _kept: deque[_Kept] = field(factory=deque, init=False)

    @property
    def oldest_s(self) -> float:
        """Age of the oldest data; 0 if there are none."""
        self._forget_old()
        return trio.current_time() - self._kept[0].at if self._kept else 0.0

    async def keep(self, data: Data) -> None:
        """Keep data that were just read, unless others were kept a moment ago."""
        now = trio.current_time()
        self._forget_old()
        if not self._kept or now - self._kept[-1].at >= EVERY_S:
            kept = _Kept(now, await compress(json_pieces(data)))
            if not self._kept or kept.at > self._kept[-1].at:  # others may have been faster
                self._kept.append(kept)

    async def at(self, ago_s: float) -> tuple[Data, float]:
        """Return the data whose age is nearest to `ago_s`, and their age.

        Data of less than half that age are not the past: if others are kept, these are returned.
        Raises HttpError(404) if nothing was kept.
        """
        self._forget_old()
        if not self._kept:
            raise HttpError(404, "nothing is kept of this page: it is kept while it is open")
        now = trio.current_time()
        past = [kept for kept in self._kept if now - kept.at >= ago_s / 2] or [self._kept[0]]
        nearest = min(past, key=lambda kept: abs(now - ago_s - kept.at))
        pieces = list[bytes]()
        for piece in nearest.body.decompressed():
            pieces.append(piece)
            await trio.lowlevel.checkpoint()
        data: Data = parse_json(b"".join(pieces))
        return data, trio.current_time() - nearest.at

    def _forget_old(self) -> None:
        now = trio.current_time()
        while self._kept and now - self._kept[0].at > KEPT_S:
            self._kept.popleft()
