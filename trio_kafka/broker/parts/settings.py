"""Settings in force as parts of the node: what follows them, and how clients change them."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

from trio_kafka.broker.dynamic_listeners import DynamicListeners
from trio_kafka.broker.lifecycle import Lifecycle
from trio_kafka.broker.node import Node, Part, at_once
from trio_kafka.broker.storage import Storage
from trio_kafka.broker.tls_listeners import TlsListeners
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.controller.config_admin import ConfigAdmin
from trio_kafka.controller.controller import Controller
from trio_kafka.log.files.partition_metadata import parse_id
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.metadata.effective import DynamicSettings
from trio_kafka.metadata.publisher import Loader, MetadataCache


def _make_settings(node: Node) -> DynamicSettings:
    # No checkpoint between the next two statements: no image may be published in between.
    dynamic = DynamicSettings(node.effective, node[MetadataCache].image)
    node[Loader].add(dynamic, "configs")
    dynamic.follow(lambda config: _follow_directories(node, config))
    return dynamic


def _follow_directories(node: Node, config: BrokerConfig) -> None:
    """Apply settings of the directories: their threads, and which are cordoned."""
    logs = node[LogManager]
    logs.resize(config.background_threads)
    node[Storage].resize(config.background_threads)
    logs.cordon(config.cordoned_log_dirs)
    node[Lifecycle].cordon(
        [
            parse_id(directory.properties.directory_id)
            for directory in logs.directories
            if directory.properties
            and directory.properties.directory_id
            and logs.is_cordoned(directory)
        ]
    )


def _make_changes(node: Node) -> ConfigAdmin:
    @asynccontextmanager
    async def prepared(changed: Mapping[str, str]) -> AsyncIterator[None]:
        # The contexts of new listeners first: these accept as soon as they are served.
        async with (
            node[TlsListeners].prepared(changed),
            node[DynamicListeners].prepared(changed),
        ):
            yield

    return ConfigAdmin(
        node.node_id,
        node[Controller],
        timeout_s=node.config.request_timeout_ms / 1000,
        prepare=prepared,
    )


SETTINGS: Final = Part(kind=DynamicSettings, open=at_once(_make_settings))
CONFIG_CHANGES: Final = Part(kind=ConfigAdmin, open=at_once(_make_changes))
