"""Times in which a connection was not read from, as pages about its client saw them.

The broker records none: a mute is part of every request. So only pauses are known that last while a
page looks at the client. A pause that is seen again within GAP_S goes on; it began when its wait
did. The oldest of too many are forgotten.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.introspect.facts.connections import ConnectionFacts

GAP_S: Final = 10.0
MOST: Final = 256  # pauses of all clients


@frozen(kw_only=True)
class PauseRow:
    """One pause. began_s: seconds ago. lasted_s: as far as it was seen. words: why."""

    connection: str
    client_id: str
    cause: str
    words: str
    began_s: float
    lasted_s: float


@define(eq=False)
class _Pause:
    connection: str
    client_id: str
    cause: str
    words: str
    began: float
    seen: float


@define(eq=False)
class MuteHistory:
    """Pauses, the oldest first."""

    _pauses: deque[_Pause] = field(factory=lambda: deque(maxlen=MOST), init=False)

    def note(self, connections: Sequence[ConnectionFacts]) -> None:
        """Note why connections are not read from now."""
        now = trio.current_time()
        open_pauses = {
            (pause.connection, pause.cause): pause
            for pause in self._pauses
            if now - pause.seen <= GAP_S
        }
        for connection in connections:
            for wait in connection.waits:
                pause = open_pauses.get((connection.id, wait.cause))
                began = now - (wait.age_s or 0.0)
                if pause is not None and began <= pause.seen:
                    pause.seen, pause.words = now, wait.words
                    continue
                self._pauses.append(
                    _Pause(
                        connection=connection.id,
                        client_id=connection.client_id,
                        cause=wait.cause,
                        words=wait.words,
                        began=began,
                        seen=now,
                    )
                )

    def rows(self, name: str) -> list[PauseRow]:
        """Return the pauses of a client id or a connection, the newest first."""
        now = trio.current_time()
        return [
            PauseRow(
                connection=pause.connection,
                client_id=pause.client_id,
                cause=pause.cause,
                words=pause.words,
                began_s=now - pause.began,
                lasted_s=pause.seen - pause.began,
            )
            for pause in reversed(self._pauses)
            if name in (pause.client_id, pause.connection)
        ]
