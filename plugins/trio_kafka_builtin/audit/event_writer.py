"""Writer of audit events: a bounded queue, and one task that writes to a topic and the log.

Events that find the queue full are dropped and counted: no request waits for its audit. Events are
appended to the partition directly, without a request, so writing them is not audited.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

import trio

from trio_kafka.controller.topics import NewTopic
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import Logger, as_json, get_logger
from trio_kafka.introspect.metrics import Counter
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.plugin import PluginContext
from trio_kafka.requests.request_log.sinks import Sink, TopicSink
from trio_kafka_builtin.audit.settings import AuditSettings

LOGGER: Final = "kafka.authorizer.audit"
SLICE: Final = 16  # events formatted per step: about 0.3 ms
WRITTEN: Final = 500  # lines per write
CREATION_S: Final = 10.0
Event = dict[str, object]


class EventWriter:
    """Writer of audit events: `take` queues them, `run` appends them to their topic."""

    def __init__(
        self,
        sinks: Sequence[Sink],
        node: Node,
        *,
        bound: int,
        dropped: Counter,
        failed: Counter,
        logger: Logger,
    ) -> None:
        """Make a writer. dropped: counts events beyond the bound. failed: counts rejected lines."""
        self._sinks = sinks
        self._bound = bound
        self._dropped = dropped
        self._failed = failed
        self._logger = logger
        self._queue: deque[Event] = deque()
        self._came = trio.Event()
        self._idle = trio.Event()
        self._high_water = self._written = 0
        self._failing = False
        node.add("audit-events", "channel", self.figures)

    def take(self, event: Event) -> None:
        """Queue an event. Never waits."""
        if len(self._queue) >= self._bound:
            self._dropped.value += 1
            return
        self._queue.append(event)
        self._high_water = max(self._high_water, len(self._queue))
        self._came.set()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Append queued events to their topic until cancelled."""
        task_status.started()
        while True:
            self._idle.set()
            await self._came.wait()
            self._came, self._idle = trio.Event(), trio.Event()
            while self._queue:
                lines: list[str] = []
                while self._queue and len(lines) < WRITTEN:
                    some = min(len(self._queue), SLICE)
                    lines += [line_of(self._queue.popleft()) for _ in range(some)]
                    await trio.lowlevel.checkpoint()
                await self._write(lines)

    async def drain(self) -> None:
        """Wait until all queued events are written."""
        await trio.lowlevel.checkpoint()
        while self._queue or not self._idle.is_set():
            await self._idle.wait()

    async def _write(self, lines: list[str]) -> None:
        for sink in self._sinks:
            try:
                await sink.write(lines)
            except (OSError, KafkaError) as error:
                self._failed.value += len(lines)
                if not self._failing:
                    self._logger.warning("audit events not written", reason=str(error))
                self._failing = True
            else:
                self._failing = False
        self._written += len(lines)

    def figures(self) -> Figures:
        return {
            "depth": len(self._queue),
            "bound": self._bound,
            "high_water": self._high_water,
            "items": self._written,
            "dropped": self._dropped.value,
            "failed": self._failed.value,
        }


def line_of(event: Event) -> str:
    """Return an event as one line of JSON."""
    return as_json(event)


class LogSink:
    """Sink: the broker's log."""

    def __init__(self) -> None:
        self._logger = get_logger(LOGGER)

    async def write(self, lines: Sequence[str]) -> None:
        for number, line in enumerate(lines, 1):
            self._logger.info("audit:%s", line)
            if not number % SLICE:
                await trio.lowlevel.checkpoint()


class AuditTopic:
    """Sink: the topic, created on the first event with its own retention."""

    def __init__(self, context: PluginContext[AuditSettings]) -> None:
        parts, self._settings = context.parts, context.settings
        self._parts = parts
        self._sink = TopicSink(
            self._settings.topic,
            replicas=parts.replicas,
            metadata=parts.metadata,
            create=_refuse_creation,
            wall=context.world.clock.wall,
        )

    async def write(self, lines: Sequence[str]) -> None:
        """Append lines. Raises KafkaError if the topic is missing and cannot be created."""
        name = self._settings.topic
        if name not in self._parts.metadata.image.topics:
            await self._create(name)
        await self._sink.write(lines)

    async def _create(self, name: str) -> None:
        topic = NewTopic(
            name=name,
            partitions=1,  # one at a time, so that events keep their order
            configs={
                "cleanup.policy": "delete",
                "retention.ms": str(self._settings.retention_ms),
                "compression.type": "producer",
                "message.timestamp.type": "CreateTime",
            },
        )
        deadline = trio.current_time() + CREATION_S
        results = await self._parts.controller.create_topics([topic], deadline=deadline)
        error = results[name]
        if isinstance(error, KafkaError) and error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
            raise error


def _refuse_creation(names: Iterable[str]) -> None:
    """Refuse creation: `AuditTopic` creates the topic itself, with its own settings."""
    del names


def sinks_of(context: PluginContext[AuditSettings]) -> list[Sink]:
    """Return the sinks of the settings."""
    sinks: list[Sink] = []
    if context.settings.topic:
        sinks.append(AuditTopic(context))
    if context.settings.log:
        sinks.append(LogSink())
    return sinks
