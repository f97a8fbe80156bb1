"""An import of a plugin in a thread, while others are served.

As far as the interpreter's lock lets them: it goes from one to the other every few ms, but not
within a call such as the compilation of a module. An import that takes too long is left to its
thread, which nothing can end, and is undone when it ends by itself.
"""

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.plugin_host.declared import Plugin
from trio_kafka.plugin_host.discovery import Origin
from trio_kafka.plugin_host.guard import PluginError
from trio_kafka.plugin_host.importing import Imported
from trio_kafka.world.world import World


@define(eq=False)
class FreshImport:
    """One import, in a thread. ended: the thread has."""

    _origin: Origin
    ended: bool = field(default=False, init=False)
    _given_up: bool = field(default=False, init=False)
    # At most one; whoever takes it out has it. Threads and the loop agree by `list.pop`.
    _result: list[tuple[list[Plugin], Imported | None]] = field(factory=list, init=False)

    async def run(self, world: World, within_s: float) -> tuple[list[Plugin], Imported | None]:
        """Raises what the import raises, PluginError if it takes longer."""
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
            raise PluginError(f"its import takes longer than {within_s:g} s")
        return self._result.pop()

    def _load(self) -> None:
        try:
            self._result.append(self._origin.load(afresh=True))
            if self._given_up:
                self._undo()
        finally:
            self.ended = True

    def _undo(self) -> None:
        """Nobody wants it any more; both sides ask, and one finds it."""
        if self._result:
            try:
                _, imported = self._result.pop()
            except IndexError:
                return
            if imported is not None:
                imported.users = 1
                imported.release()
