"""The log cleaner as a part of the node, with the settings in force; `upkeep` runs it."""

from typing import Final

from trio_kafka.broker.node import Node, Part, at_once
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.log.cleaner.log_cleaner import LogCleaner
from trio_kafka.log.cleaner.settings import CleanerSettings
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.metadata.effective import DynamicSettings


def _make(node: Node) -> LogCleaner:
    cleaner = LogCleaner(node[LogManager], _settings(node.config), node.tree)
    node[DynamicSettings].follow(lambda config: cleaner.configure(_settings(config)))
    return cleaner


def _settings(config: BrokerConfig) -> CleanerSettings:
    return CleanerSettings(
        enabled=config.log_cleaner_enable,
        threads=config.log_cleaner_threads,
        dedupe_buffer_bytes=config.log_cleaner_dedupe_buffer_size,
        load_factor=config.log_cleaner_io_buffer_load_factor,
        io_buffer_bytes=config.log_cleaner_io_buffer_size,
        io_max_bytes_per_second=config.log_cleaner_io_max_bytes_per_second,
        backoff_ms=config.log_cleaner_backoff_ms,
    )


CLEANER: Final = Part(kind=LogCleaner, open=at_once(_make))
