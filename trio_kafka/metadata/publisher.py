"""Loader and publishers: committed records become images, which parts of the broker follow.

Theory of operation. The loader is one task and repeats three things: read the batches committed
since, replay them into a delta, publish the delta with its image. Nothing is published before the
records that were committed at the start are replayed: a publisher takes its first delta for the
whole state. From then on each delta leads from the image before it to its own, none is skipped, and
a metadata transaction is in one delta, or in none if it is aborted. Publishers are called in the
order in which they were added, each when the one before it has completed its steps, and only if the
delta has something that it follows. `image` and `wait_published` are ahead of none of them. A
publisher must not fail: an exception stops the broker, as its parts would act on different images.
Replay and publishers share slices of 0.5 ms or 8 steps, between which other tasks run.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, NoReturn, Protocol

import trio

from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.metadata.image_builder import ImageBuilder
from trio_kafka.metadata.progress import Progress
from trio_kafka.metadata.source import MetadataSource

_SLICE_S: Final = 0.0005  # of steps in one slice; a pass of the loop costs 0.1 ms
_STEPS: Final = 8  # at most in one slice


class Publisher(Protocol):
    """Part of the broker that follows the metadata."""

    def publish(self, delta: MetadataDelta, image: MetadataImage, /) -> Iterable[None] | None:
        """Apply a delta, which leads from the previous image to this one.

        Steps, if any, are completed before the next publisher is called.
        """


class MetadataCache:
    """Publisher that keeps the newest image."""

    def __init__(self, image: MetadataImage) -> None:
        self.image = image

    def publish(self, _delta: MetadataDelta, image: MetadataImage, /) -> None:
        self.image = image


def changes(delta: MetadataDelta, attributes: Iterable[str]) -> bool:
    """Return whether a delta changes one of these attributes of a MetadataDelta."""
    return any(map(partial(getattr, delta), attributes))


class Loader:
    """Task that reads a source from its beginning and publishes images."""

    def __init__(
        self,
        source: MetadataSource,
        publishers: Sequence[Publisher],
        *,
        cluster_id: str,
        elapsed: Callable[[], float],
        node: Node,
    ) -> None:
        self._source = source
        self._elapsed = elapsed
        self._publishers: list[tuple[Publisher, Sequence[str]]] = [
            (publisher, ()) for publisher in publishers
        ]
        self._builder = ImageBuilder(cluster_id)
        self._published = Progress()
        self._node = node
        self._steps = 0  # of this slice
        self._slice_ends = 0.0

    @property
    def image(self) -> MetadataImage:
        """Image that all publishers have seen."""
        return self._builder.published

    def add(self, publisher: Publisher, *follows: str) -> None:
        """Add a publisher. It must start from `image`, and gets the next delta.

        follows: attributes of MetadataDelta, such as "quotas"; deltas that change none of them are
            not passed on. Without any, all are.
        """
        self._publishers.append((publisher, follows))

    async def wait_published(self, offset: int) -> None:
        """Wait until every publisher has seen all records below `offset`."""
        await self._published.wait(offset)

    async def run(
        self, *, task_status: trio.TaskStatus[MetadataImage] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Load until cancelled; started when the records committed at the start are published.

        No image is published before, as publishers take the first one for the whole state.
        """
        with self._node.child("metadata-loader", "task", self._figures):
            started = False
            goal: int | None = None
            while True:
                batches = await self._source.read(self._builder.offset)
                self._begin_slice()
                if goal is None:
                    goal = self._source.committed_offset
                for batch in batches:
                    await self._run(self._builder.take(batch))
                if self._builder.offset < goal:
                    continue
                await self._publish()
                if not started:
                    started = True
                    task_status.started(self.image)

    async def _publish(self) -> None:
        publication = self._builder.finish()
        if publication is None:
            return
        delta, image = publication
        for publisher, follows in self._publishers:
            if not follows or changes(delta, follows):
                steps = publisher.publish(delta, image)
                if steps is not None:
                    await self._run(steps)
        self._published.advance(image.offset)

    async def _run(self, steps: Iterable[None]) -> None:
        """Run all steps. Has a checkpoint whenever the slice is over, and so perhaps none."""
        for _ in steps:
            self._steps += 1
            if self._steps == _STEPS or self._elapsed() >= self._slice_ends:
                await self._pause()
        if self._elapsed() >= self._slice_ends:  # a publisher may have worked without steps
            await self._pause()

    async def _pause(self) -> None:
        await trio.lowlevel.checkpoint()
        self._begin_slice()

    def _begin_slice(self) -> None:
        self._steps = 0
        self._slice_ends = self._elapsed() + _SLICE_S

    def _figures(self) -> Figures:
        return {
            "offset": self.image.offset,
            "epoch": self.image.epoch,
            "topics": len(self.image.topics),
            "publishers": len(self._publishers),
        }
