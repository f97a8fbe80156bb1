"""From committed records to the parts that live by them: records, delta, image, publishers in
order.

The loader is one task. A publisher is a plain call that must not fail: what it raises stops the
broker, as the parts would then act on different images. One whose work grows with the delta gives
it in steps, and other tasks run in between. A metadata transaction is published whole or, aborted,
not at all.
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

_SLICE_S: Final = 0.0005  # of steps without letting others run: a pass of the loop costs 0.1 ms
_STEPS: Final = 8  # at most in one slice, whatever the clock says


class Publisher(Protocol):
    """A part that follows the metadata."""

    def publish(self, delta: MetadataDelta, image: MetadataImage, /) -> Iterator[None] | None:
        """`delta` leads from the image published before to this one.

        Steps, if any, are taken to the end before the next publisher, and the next delta, is due.
        """


class MetadataCache:
    """The newest image, for whoever asks."""

    def __init__(self, image: MetadataImage) -> None:
        self.image = image

    def publish(self, _delta: MetadataDelta, image: MetadataImage, /) -> None:
        self.image = image


class Loader:
    """Reads a source from its beginning and publishes; `image` is what was published last."""

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
        """What all publishers have seen."""
        return self._builder.published

    def add(self, publisher: Publisher) -> None:
        """One more, from the next delta on; made later than the others, it begins with `image`."""
        self._publishers.append(publisher)

    async def wait_published(self, offset: int) -> None:
        """Until every publisher has seen all below `offset`."""
        await self._published.wait(offset)

    async def run(
        self, *, task_status: trio.TaskStatus[MetadataImage] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Load until cancelled; started when all that was committed at first has been published.

        Before that nothing is: whoever sees a first image takes it for the whole.
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
        """All of the steps, a slice after the other."""
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
