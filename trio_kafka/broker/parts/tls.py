"""TLS of the listeners as a part of the node: contexts are there before a port is bound."""

from typing import Final

from trio_kafka.broker.errors import StartError
from trio_kafka.broker.node import Node, Part, Stage, tasks_end
from trio_kafka.broker.tls_listeners import TlsListeners
from trio_kafka.config.setting import ConfigError
from trio_kafka.metadata.effective import DynamicSettings
from trio_kafka.periodic_jobs import Scheduler

_TASK: Final = "tls-certificates"
_LOOK_S: Final = 60.0


async def _open(node: Node) -> TlsListeners:
    """Make the contexts. Raises StartError."""
    dynamic = node[DynamicSettings]
    tls = TlsListeners(node.world, node.config, node.tree)
    try:
        await tls.load(dynamic.config)
    except ConfigError as error:
        raise StartError(str(error)) from error
    await node.tasks.start(_TASK, tls.run)
    dynamic.follow(tls.follow)
    if tls.has_files:
        node[Scheduler].every("trio-tls-certificates", _LOOK_S, tls.reload)
    return tls


TLS: Final = Part(
    kind=TlsListeners, open=_open, stops={Stage.HANDLERS: tasks_end(_TASK)}, step="network"
)
