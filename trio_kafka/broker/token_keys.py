"""Public keys of token issuers: read at the start, and again and again, by one task for each URL.

A broker does not start without the keys of its listeners. Later failures keep the last keys, and
are repeated with a back-off. A token with an unknown key id has the keys read at once, but not
within ten seconds of the last time: an issuer may have changed its keys, or a client may guess.
Source: RefreshingHttpsJwks of Apache Kafka 4.4.0.
"""

from typing import Final, NoReturn
from urllib.request import Request, urlopen

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.config.oauth import TokenRules
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.peers.backoff import Backoff
from trio_kafka.security.tokens.keys import IssuerKeys
from trio_kafka.world.world import World

_logger: Final = get_logger(__name__)
_LEAST_S: Final = 10.0
_TIMEOUT_S: Final = 10.0
_LARGEST: Final = 1 << 20  # bytes of a key set


@define(eq=False)
class IssuerRefresher:
    """Keeps the keys of one URL. rules: those of the first listener with it."""

    _world: World
    rules: TokenRules
    keys: IssuerKeys = field(factory=IssuerKeys, init=False)
    reads: int = field(default=0, init=False)
    failures: int = field(default=0, init=False)
    _refresh_due: trio.Event = field(factory=trio.Event, init=False)

    def __attrs_post_init__(self) -> None:
        self.keys.missing = self._note_missing

    def _note_missing(self) -> None:
        self._refresh_due.set()  # it is another event after each time

    async def read(self) -> None:
        """Read the keys. Raises OSError, ValueError."""
        document = await self._world.run_in_thread(read_document, str(self.rules.url))
        self.keys.replace(document)
        self.reads += 1
        self.failures = 0

    async def run(self) -> NoReturn:
        """Read the keys when they are due, until cancelled."""
        backoff = Backoff(self.rules.backoff_s, self.rules.longest_backoff_s)
        while True:
            if self.failures or not self.reads:
                pause_s = backoff.pause_s(self.failures, self._world.random.random())
                await trio.sleep(pause_s if self.failures else 0)
            else:
                await trio.sleep(_LEAST_S)
                with trio.move_on_after(max(self.rules.refresh_s - _LEAST_S, 0)):
                    await self._refresh_due.wait()
            self._refresh_due = trio.Event()
            try:
                await self.read()
            except (OSError, ValueError) as error:
                self.failures += 1
                _logger.warning("keys not read", url=self.rules.url, reason=str(error))

    def figures(self) -> Figures:
        """Return figures for the tree."""
        return {"keys": len(self.keys), "reads": self.reads, "failures": self.failures}


class TokenKeys:
    """Keys of all issuers, by URL."""

    def __init__(self, world: World, node: Node) -> None:
        self._world = world
        self._node = node.add("token-keys", "part")
        self._refreshers: dict[str, IssuerRefresher] = {}
        self._new: list[IssuerRefresher] = []
        self._changed = trio.Event()

    def of(self, rules: TokenRules) -> IssuerKeys:
        """Return the keys of an issuer; they are read soon, if they were not before."""
        return self._refresher(rules).keys

    async def read(self, rules: TokenRules) -> None:
        """Read the keys of an issuer now. Raises OSError, ValueError."""
        await self._refresher(rules).read()

    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Keep the keys up to date until cancelled."""
        async with trio.open_nursery() as nursery:
            task_status.started()
            while True:
                for refresher in self._new:
                    nursery.start_soon(refresher.run, name=f"keys {refresher.rules.url}")
                self._new.clear()
                await self._changed.wait()
                self._changed = trio.Event()

    def _refresher(self, rules: TokenRules) -> IssuerRefresher:
        url = str(rules.url)
        refresher = self._refreshers.get(url)
        if refresher is None:
            refresher = self._refreshers[url] = IssuerRefresher(self._world, rules)
            self._node.add(url, "part", refresher.figures)
            self._new.append(refresher)
            self._changed.set()
        return refresher


def read_document(url: str) -> bytes:
    """Return what is at a URL (https, http, file), in the calling thread.

    Raises OSError; ValueError for more than 1 MiB.
    """
    request = Request(url, headers={"Accept": "application/json"})  # noqa: S310 - of the settings
    with urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310 - of the settings
        document: bytes = answer.read(_LARGEST + 1)
    if len(document) > _LARGEST:
        raise ValueError(f"a key set of more than {_LARGEST} bytes")
    return document
