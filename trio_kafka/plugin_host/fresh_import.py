"""Import of a plugin in a thread while the loop serves requests.

The interpreter lock alternates between both every few ms, but not within a call such as the
compilation of a module. A thread cannot be stopped: an import that takes too long is abandoned and
undone when it ends.
"""

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.plugin_host.discovery import Origin
from trio_kafka.plugin_host.guard import PluginError
from trio_kafka.plugin_host.importing import Imported
from trio_kafka.world.world import World


@define(eq=False)
class FreshImport:
    """One import in a thread. ended: the thread has ended."""

    _origin: Origin
    ended: bool = field(default=False, init=False)
    _given_up: bool = field(default=False, init=False)
    # At most one result; `list.pop` decides between the thread and the loop.
    _result: list[tuple[list[Plugin], Imported | None]] = field(factory=list, init=False)

    async def run(self, world: World, within_s: float) -> tuple[list[Plugin], Imported | None]:
        """Import; raises what the import raises, PluginError after `within_s`."""
        done = False
        try:
            with trio.move_on_after(within_s):
                await world.run_beside(self._load)
                done = True
        finally:
            if not done:
                self._given_up = True
                self._undo()
        if not done:
            raise PluginError(f"its import took longer than {within_s:g} s")
        return self._result.pop()

    def _load(self) -> None:
        try:
            self._result.append(self._origin.load(afresh=True))
            if self._given_up:
                self._undo()
        finally:
            self.ended = True

    def _undo(self) -> None:
        """Undo an abandoned import; called by both sides, only one of which gets the result."""
        if self._result:
            try:
                _, imported = self._result.pop()
            except IndexError:
                return
            if imported is not None:
                imported.users = 1
                imported.release()
