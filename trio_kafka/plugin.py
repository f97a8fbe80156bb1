"""Plugin API: everything that a plugin of an outsider imports from the broker, besides messages.

docs/reference/plugin-api.md has one line for each name. A handler reaches a part of the broker by
its class, `context[GroupCoordinator]`, which it imports from the part's package.
"""

from trio_kafka.config.setting import Outside, boolean, double, password, string
from trio_kafka.config.setting import int64 as integer
from trio_kafka.config.setting import string_list as texts
from trio_kafka.controller.policies import ConfigsToAlter, TopicToCreate
from trio_kafka.coordinators.groups.consumer.assignors.spec import (
    Assignor,
    AssignorError,
    GroupAssignment,
    GroupSpec,
    MemberSpec,
)
from trio_kafka.errors import ErrorCode, KafkaError, ProtocolError
from trio_kafka.introspect.families import Family, Kind, MetricsReporter
from trio_kafka.introspect.tree import Figure
from trio_kafka.model import TopicId
from trio_kafka.pending import Eventual, then
from trio_kafka.plugin_host.context import Forward, PluginContext
from trio_kafka.plugin_host.declaration import Plugin, plugin
from trio_kafka.plugin_host.guard import PluginError
from trio_kafka.plugin_host.records import RecordPosition
from trio_kafka.records.batch import Record
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import lazily, rows_of
from trio_kafka.requests.loopback import RefusedError
from trio_kafka.requests.replies import Encoded
from trio_kafka.requests.rows import for_each, rows
from trio_kafka.security.operations import Operation

__all__ = [
    "Assignor",
    "AssignorError",
    "ConfigsToAlter",
    "Context",
    "Encoded",
    "ErrorCode",
    "Eventual",
    "Family",
    "Figure",
    "Forward",
    "GroupAssignment",
    "GroupSpec",
    "KafkaError",
    "Kind",
    "MemberSpec",
    "MetricsReporter",
    "Operation",
    "Outside",
    "Plugin",
    "PluginContext",
    "PluginError",
    "ProtocolError",
    "Record",
    "RecordPosition",
    "RefusedError",
    "TopicId",
    "TopicToCreate",
    "api",
    "boolean",
    "double",
    "for_each",
    "integer",
    "lazily",
    "password",
    "plugin",
    "rows",
    "rows_of",
    "string",
    "texts",
    "then",
]
