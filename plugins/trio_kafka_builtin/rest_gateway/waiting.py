"""Waiting in a task for what handlers park: the end of a write, new records of a partition."""

from collections.abc import Hashable
from typing import Any

import trio
from attrs import define, field

from trio_kafka.plugin import Delayed, Purgatory


async def settled(answer: Any) -> Any:
    """An answer, or what a Delayed becomes; one that is not waited for any more is dropped."""
    if not isinstance(answer, Delayed):
        await trio.lowlevel.checkpoint()
        return answer
    woken = trio.Event()
    results: list[Any] = []

    def wake(delayed: Delayed) -> None:
        del delayed
        woken.set()

    def finish(result: Any) -> None:
        results.append(result)
        woken.set()

    answer.purgatory.watch(answer, wake, finish)
    try:
        while not results:
            await woken.wait()
            woken = trio.Event()
            if not results:
                answer.purgatory.look(answer)
    finally:
        if not results:
            answer.purgatory.drop(answer)
    if isinstance(results[0], Exception):
        raise results[0]
    return results[0]


@define(eq=False)
class Watch:
    """Told when a key of a purgatory is marked, for as long as the block runs."""

    purgatory: Purgatory
    key: Hashable
    _changed: trio.Event = field(factory=trio.Event, init=False)

    def __enter__(self) -> "Watch":
        self.purgatory.attach(self.key, self)
        return self

    def __exit__(self, *error: object) -> None:
        self.purgatory.detach(self.key, self)

    def marked(self, key: Hashable) -> None:
        """For the purgatory."""
        del key
        self._changed.set()

    async def wait(self) -> None:
        """Until it was marked since the last wait."""
        await self._changed.wait()
        self._changed = trio.Event()
