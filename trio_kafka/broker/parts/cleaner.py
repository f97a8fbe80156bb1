"""The log cleaner as a part of the broker, with the settings in force."""

from typing import Final

from trio_kafka.broker.build_context import BuildContext
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.log.cleaner.log_cleaner import LogCleaner
from trio_kafka.log.cleaner.settings import CleanerSettings
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.metadata.effective import DynamicSettings

# Task name.
CLEANER: Final = "log-cleaner"


def make_cleaner(context: BuildContext, logs: LogManager) -> LogCleaner:
    """Make the cleaner; it compacts nothing before `start_cleaner`."""
    return LogCleaner(logs, _settings(context.config), context.node)


async def start_cleaner(
    context: BuildContext, cleaner: LogCleaner, dynamic: DynamicSettings
) -> None:
    """Start the cleaner. It follows changes of its settings."""
    dynamic.follow(lambda config: cleaner.configure(_settings(config)))
    await context.tasks.start(CLEANER, cleaner.run)


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
