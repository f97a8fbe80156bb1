"""Roles of a node: lists of parts, in the order in which they are opened.

The order is that of docs/design/start-and-stop.md. A part finds those above it in its node. The
stop does not depend on these lists, except within a stage: see `trio_kafka.broker.shutdown`.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from trio_kafka.broker.node import Part
from trio_kafka.broker.parts.authentication import AUTHENTICATION
from trio_kafka.broker.parts.authorizer import AUTHORIZER
from trio_kafka.broker.parts.cleaner import CLEANER
from trio_kafka.broker.parts.clocks import SCHEDULER, TIMERS
from trio_kafka.broker.parts.connections import LIMITS
from trio_kafka.broker.parts.controller import CONTROLLER as ACTIVE_CONTROLLER
from trio_kafka.broker.parts.delegation_tokens import DELEGATION_TOKENS
from trio_kafka.broker.parts.directories import DIRECTORIES
from trio_kafka.broker.parts.features import FEATURES
from trio_kafka.broker.parts.groups import GROUPS
from trio_kafka.broker.parts.listeners import LISTENERS
from trio_kafka.broker.parts.logs import LOGS
from trio_kafka.broker.parts.metadata import LOADER, METADATA
from trio_kafka.broker.parts.planes import PLANES
from trio_kafka.broker.parts.plugins import PLUGINS
from trio_kafka.broker.parts.producer_ids import PRODUCER_IDS
from trio_kafka.broker.parts.quorum import QUORUM
from trio_kafka.broker.parts.quotas import QUOTAS
from trio_kafka.broker.parts.registration import LIFECYCLE, REGISTRATION
from trio_kafka.broker.parts.replicas import REPLICAS
from trio_kafka.broker.parts.request_log import REQUEST_LOG
from trio_kafka.broker.parts.settings import CONFIG_CHANGES, SETTINGS
from trio_kafka.broker.parts.snapshots import SNAPSHOTS
from trio_kafka.broker.parts.telemetry import TELEMETRY
from trio_kafka.broker.parts.tls import TLS
from trio_kafka.broker.parts.topic_creation import TOPIC_CREATION
from trio_kafka.broker.parts.transactions import TRANSACTIONS
from trio_kafka.broker.parts.upkeep import UPKEEP
from trio_kafka.broker.parts.watchdog import WATCHDOG

# Today's settings allow no other than this: a broker whose controller is part of it.
BROKER: Final[Sequence[Part[object]]] = (
    SCHEDULER,
    TIMERS,
    DIRECTORIES,
    QUORUM,
    METADATA,
    LOADER,
    ACTIVE_CONTROLLER,
    LOGS,
    LIFECYCLE,
    AUTHORIZER,
    SETTINGS,
    LIMITS,
    QUOTAS,
    TLS,  # whose contexts the planes use
    DELEGATION_TOKENS,
    AUTHENTICATION,
    PLANES,  # whose handlers are told when quotas come into force
    LISTENERS,  # a port in use is found here, before any log is created
    FEATURES,
    PRODUCER_IDS,
    CONFIG_CHANGES,
    CLEANER,
    REPLICAS,
    GROUPS,
    TRANSACTIONS,
    SNAPSHOTS,  # after all other readers of the metadata
    TOPIC_CREATION,
    TELEMETRY,
    UPKEEP,
    REGISTRATION,
    REQUEST_LOG,
    WATCHDOG,
    PLUGINS,
)
# A controller alone: it writes the metadata and serves no partitions.
CONTROLLER: Final[Sequence[Part[object]]] = (
    SCHEDULER,
    TIMERS,
    DIRECTORIES,
    QUORUM,
    METADATA,
    LOADER,
    ACTIVE_CONTROLLER,
    SNAPSHOTS,
)
ROLES: Final[Mapping[str, Sequence[Part[object]]]] = {"broker": BROKER, "controller": CONTROLLER}
