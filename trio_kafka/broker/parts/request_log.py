"""The request log of a broker, switched by `trio.request.log` or the level of Kafka's logger.

Settings may change while it runs. At level DEBUG or TRACE, `kafka.request.logger` writes requests
to the broker's own log, whatever the setting says. Its initial level WARN is silent, as in Kafka.
"""

import logging
from typing import Final

import trio

from trio_kafka.broker.node import Node, Part, Stage
from trio_kafka.broker.parts.planes import Planes
from trio_kafka.broker.parts.topic_creation import TopicCreation
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.introspect.levels import following
from trio_kafka.introspect.log import get_logger
from trio_kafka.metadata.effective import DynamicSettings
from trio_kafka.metadata.publisher import MetadataCache
from trio_kafka.replication.table import Replicas
from trio_kafka.requests.request_log.log import RequestLog, log_filter
from trio_kafka.requests.request_log.sinks import LOGGER, FileSink, LoggerSink, Sink, TopicSink

_TASK: Final = "request-log"
_LAST_LINES_S: Final = 0.5  # for those that are not written yet when the node stops
_logger: Final = get_logger(__name__)


async def _open(node: Node) -> RequestLog:
    """Start the request log for the existing planes; it follows settings and log levels."""
    planes, metadata, dynamic = node[Planes], node[MetadataCache], node[DynamicSettings]
    log = RequestLog(
        node.handler_parts.interceptors,
        planes.all,
        node.tree,
        names=planes.data.request_metrics.name_of,
        topic_id=lambda name: topic.id if (topic := metadata.image.topics.get(name)) else None,
        elapsed=node.world.clock.elapsed,
        bound=node.config.trio_request_log_queue,
    )
    switch = RequestLogSwitch(node, log, dynamic)
    dynamic.follow(switch.follow)

    async def run(*, task_status: trio.TaskStatus[None]) -> None:
        with following(switch.apply):
            try:
                await log.run(task_status=task_status)
            finally:
                switch.close()

    await node.tasks.start(_TASK, run)
    return log


async def _stop(node: Node) -> None:
    """Write pending lines, then stop the writer."""
    with trio.move_on_after(_LAST_LINES_S):
        await node[RequestLog].drain()
    await node.tasks.stop(_TASK)


class RequestLogSwitch:
    """Switch of the request log."""

    def __init__(self, node: Node, log: RequestLog, dynamic: DynamicSettings) -> None:
        self._node = node
        self._log = log
        self._config = dynamic.config
        self._file: FileSink | None = None
        logger = logging.getLogger(LOGGER)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.WARNING)

    def follow(self, config: BrokerConfig) -> None:
        """Apply changed settings."""
        self._config = config
        self.apply()

    def apply(self) -> None:
        """Start, stop or redirect the log as settings and levels say."""
        config = self._config
        self.close()
        sinks: list[Sink] = []
        own_topic = ""
        if config.trio_request_log == "topic":
            own_topic = config.trio_request_log_topic
            sinks.append(self._topic(own_topic))
        elif config.trio_request_log == "file" and config.trio_request_log_file:
            self._file = FileSink(self._node.world, config.trio_request_log_file)
            sinks.append(self._file)
        elif config.trio_request_log == "file":
            _logger.error("request log disabled, set trio.request.log.file")
        if logging.getLogger(LOGGER).isEnabledFor(logging.DEBUG):
            sinks.append(LoggerSink())
        if not sinks:
            self._log.stop()
            return
        apis, clients = config.trio_request_log_apis, config.trio_request_log_clients
        self._log.start(log_filter(apis, clients, own_topic), sinks)

    def close(self) -> None:
        """Close the file, if there is one."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _topic(self, name: str) -> TopicSink:
        node = self._node
        return TopicSink(
            name,
            replicas=node[Replicas],
            metadata=node[MetadataCache],
            create=node[TopicCreation].want,
            wall=node.world.clock.wall,
        )


REQUEST_LOG: Final = Part(kind=RequestLog, open=_open, stops={Stage.HANDLERS: _stop})
