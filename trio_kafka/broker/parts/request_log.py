"""The request log of a broker, switched by `trio.request.log` or the level of Kafka's logger.

Settings may change while it runs. At level DEBUG or TRACE, `kafka.request.logger` writes requests
to the broker's own log, whatever the setting says. Its initial level WARN is silent, as in Kafka.
"""

import logging
from typing import Final

import trio

from trio_kafka.broker.build_context import BuildContext
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.introspect.levels import following
from trio_kafka.introspect.log import get_logger
from trio_kafka.metadata.effective import DynamicSettings
from trio_kafka.requests.parts import Parts
from trio_kafka.requests.request_log.log import RequestLog, log_filter
from trio_kafka.requests.request_log.sinks import LOGGER, FileSink, LoggerSink, Sink, TopicSink

# Task name.
REQUEST_LOG: Final = "request-log"
_logger: Final = get_logger(__name__)


async def start_request_log(
    context: BuildContext, parts: Parts, dynamic: DynamicSettings
) -> RequestLog:
    """Start the request log for the existing planes; it follows settings and log levels."""
    log = RequestLog(
        parts.interceptors,
        tuple(parts.planes),
        context.node,
        names=parts.planes[0].request_metrics.name_of,
        topic_id=lambda name: (
            topic.id if (topic := parts.metadata.image.topics.get(name)) else None
        ),
        elapsed=context.world.clock.elapsed,
        bound=context.config.trio_request_log_queue,
    )
    switch = RequestLogSwitch(context, parts, log, dynamic)
    dynamic.follow(switch.follow)

    async def run(*, task_status: trio.TaskStatus[None]) -> None:
        with following(switch.apply):
            try:
                await log.run(task_status=task_status)
            finally:
                switch.close()

    await context.tasks.start(REQUEST_LOG, run)
    return log


class RequestLogSwitch:
    """Switch of the request log."""

    def __init__(
        self, context: BuildContext, parts: Parts, log: RequestLog, dynamic: DynamicSettings
    ) -> None:
        self._site = context
        self._parts = parts
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
            self._file = FileSink(self._site.world, config.trio_request_log_file)
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
        parts = self._parts
        return TopicSink(
            name,
            replicas=parts.replicas,
            metadata=parts.metadata,
            create=parts.topic_creation.want,
            wall=self._site.world.clock.wall,
        )
