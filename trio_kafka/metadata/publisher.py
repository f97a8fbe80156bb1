"""Loader and publishers: committed records become images, which parts of the broker follow.

The loader is one task. It calls the publishers in order, each with a delta and the new image. A
publisher must not fail: an exception stops the broker, as its parts would act on different images.
A publisher with much work returns steps, between which other tasks run. A metadata transaction is
published as a whole, or not at all if it is aborted.
"""

from collections.abc import Callable, Iterator, Sequence
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

    def publish(self, delta: MetadataDelta, image: MetadataImage, /) -> Iterator[None] | None:
        """Apply a delta, which leads from the previous image to this one.

        Steps, if any, are completed before the next publisher is called.
        """


class MetadataCache:
    """Publisher that keeps the newest image."""

    def __init__(self, image: MetadataImage) -> None:
        self.image = image

    def publish(self, _delta: MetadataDelta, image: MetadataImage, /) -> None:
        self.image = image


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
        self._publishers = list(publishers)
        self._builder = ImageBuilder(cluster_id)
        self._published = Progress()
        self._node = node

    @property
    def image(self) -> MetadataImage:
        """Image that all publishers have seen."""
        return self._builder.published

    def add(self, publisher: Publisher) -> None:
        """Add a publisher. It must start from `image`, and gets the next delta."""
        self._publishers.append(publisher)

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
                if goal is None:
                    goal = self._source.committed_offset
                for batch in batches:
                    await self._take(self._builder.take(batch))
                if self._builder.offset < goal:
                    continue
                await self._publish()
                if not started:
                    started = True
                    task_status.started(self.image)

    async def _publish(self) -> None:
        made = self._builder.finish()
        if made is not None:
            delta, image = made
            for publisher in self._publishers:
                steps = publisher.publish(delta, image)
                if steps is not None:
                    await self._take(steps)
            self._published.advance(image.offset)

    async def _take(self, steps: Iterator[None]) -> None:
        """Take all steps, in slices."""
        taken, ends = 0, self._elapsed() + _SLICE_S
        for taken, _ in enumerate(steps, 1):
            if not taken % _STEPS or self._elapsed() >= ends:
                await trio.lowlevel.checkpoint()
                ends = self._elapsed() + _SLICE_S
        if not taken:
            await trio.lowlevel.checkpoint()

    def _figures(self) -> Figures:
        return {
            "offset": self.image.offset,
            "epoch": self.image.epoch,
            "topics": len(self.image.topics),
            "publishers": len(self._publishers),
        }
