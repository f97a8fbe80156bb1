"""Plugin API: everything that a handler or plugin may import, besides message modules.

It has decorators, requests and responses, errors, and the values and calls of the parts that a
`Context` gives access to.
"""

from trio_kafka.config.report.describe import (
    Row,
    describe_broker,
    describe_broker_defaults,
    describe_group,
    describe_topic,
)
from trio_kafka.config.setting import (
    Outside,
    boolean,
    double,
    password,
    string,
)
from trio_kafka.config.setting import int64 as integer
from trio_kafka.config.setting import string_list as texts
from trio_kafka.config.trio_settings import check_destination
from trio_kafka.controller.config_admin import ResourceChanges, check_broker
from trio_kafka.controller.configs import MOST_SETTINGS
from trio_kafka.controller.features import FeatureChange, Upgrade
from trio_kafka.controller.policies import ConfigsToAlter, TopicToCreate
from trio_kafka.controller.quotas import MOST_CHANGES as MOST_QUOTA_CHANGES
from trio_kafka.controller.quotas import QuotaChange
from trio_kafka.controller.topics import MOST_PARTITIONS, CreatedTopic, NewTopic
from trio_kafka.coordinators.groups.administration import GroupFilter, ListedGroup
from trio_kafka.coordinators.groups.classic.values import (
    Beating,
    Described,
    DescribedMember,
    GroupProtocol,
    Joined,
    Joining,
    Leaving,
    Synced,
    Syncing,
)
from trio_kafka.coordinators.groups.consumer.assignors.spec import (
    Assignor,
    AssignorError,
    GroupAssignment,
    GroupSpec,
    MemberSpec,
)
from trio_kafka.coordinators.groups.consumer.values import DescribedGroup as DescribedConsumerGroup
from trio_kafka.coordinators.groups.consumer.values import (
    DescribedMember as DescribedConsumerMember,
)
from trio_kafka.coordinators.groups.consumer.values import (
    DescribedTopic,
    HeartbeatAnswer,
    OwnedTopic,
)
from trio_kafka.coordinators.groups.consumer.values import Heartbeat as GroupHeartbeat
from trio_kafka.coordinators.groups.java_compat import client_host
from trio_kafka.coordinators.groups.offset_values import (
    AskedTopic,
    Commit,
    FetchedTopic,
    FetchOffsets,
    PartitionOffset,
    TopicOffsets,
)
from trio_kafka.errors import ErrorCode, KafkaError, ProtocolError
from trio_kafka.introspect.families import Family, Kind, MetricsReporter
from trio_kafka.introspect.levels import logger_levels
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.introspect.tree import Figure, Node
from trio_kafka.log.append import Appended
from trio_kafka.log.manager.description import DescribedLog, describe_logs, space_of
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.producer_state import Producer as ActiveProducer
from trio_kafka.metadata.endpoints import (
    LeaderEndpoints,
    NodeEndpoint,
    OnlineDirectories,
    endpoint_on,
    endpoints_on,
    offline_replicas,
    online_directories,
)
from trio_kafka.metadata.image import (
    ConfigResourceType,
    MetadataImage,
    PartitionState,
    QuotaEntity,
    TopicImage,
)
from trio_kafka.metadata.names import check_topic_name, is_internal
from trio_kafka.metadata.quotas import quota_filter, quotas_that
from trio_kafka.model import NO_NODE, ZERO_TOPIC_ID, Endpoint, NodeId, TopicId, TopicPartition
from trio_kafka.pending import NO_ANSWER, Eventual, Pending, Work, then
from trio_kafka.plugin_host.context import Forward, PluginContext
from trio_kafka.plugin_host.declaration import Plugin, plugin
from trio_kafka.plugin_host.guard import PluginError, TooSoonError
from trio_kafka.plugin_host.mounts import Mount, Mounts
from trio_kafka.plugin_host.records import RecordPosition
from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.schema import message_of
from trio_kafka.purgatory import Delayed, Purgatory
from trio_kafka.quotas.mutation import Charges
from trio_kafka.records.batch import Record
from trio_kafka.records.record_checks import BadRecordsError
from trio_kafka.records.validate import NoBatchError
from trio_kafka.replication.alter_log_dirs import alter_log_dir
from trio_kafka.replication.append import check_acks
from trio_kafka.replication.delete_records import (
    NO_WATERMARK,
    TimedOutDeletionError,
)
from trio_kafka.replication.fetch import FetchAnswer, FetchLimits, Reads
from trio_kafka.replication.offsets import (
    ListedOffset,
    check_time_is_known,
    epoch_end,
    search_offset,
    special_offset,
)
from trio_kafka.replication.partition import LED_ELSEWHERE, Partition, active_producers
from trio_kafka.replication.read import (
    UNKNOWN_OFFSET,
    Isolation,
    PartitionRead,
    Wanted,
    isolation_of,
)
from trio_kafka.replication.sessions import FetchKey
from trio_kafka.replication.topic_metrics import EXPECTED_OF_PRODUCE
from trio_kafka.requests.api import ANY_SIZE, MANY_PARTITIONS, api
from trio_kafka.requests.context import Context
from trio_kafka.requests.inspection import InspectedRequest, Selection, inspect_requests
from trio_kafka.requests.lazy_arrays import lazily, rows_of
from trio_kafka.requests.loopback import RefusedError
from trio_kafka.requests.plugins import PluginStatus
from trio_kafka.requests.registry import Registry
from trio_kafka.requests.replies import Encoded, encoded_in_steps
from trio_kafka.requests.response_cache import ResponseCache
from trio_kafka.requests.rows import Pairs, for_each, rows, visit
from trio_kafka.scheduling.chunked_work import Steps, counted, in_slices, sorted_in_steps, whole
from trio_kafka.scheduling.loop_budget import in_steps
from trio_kafka.security.authorizer import ALLOW_ALL, Authorizer
from trio_kafka.security.operations import OF_CLUSTER, OF_GROUP, OF_TOPIC, Operation
from trio_kafka.security.principal import NOBODY, Principal, parse_principal
from trio_kafka.security.resources import Resource, ResourceType
from trio_kafka.world.protocols import Space

__all__ = [
    "ALLOW_ALL",
    "ANY_SIZE",
    "EXPECTED_OF_PRODUCE",
    "LED_ELSEWHERE",
    "MANY_PARTITIONS",
    "MOST_PARTITIONS",
    "MOST_QUOTA_CHANGES",
    "MOST_SETTINGS",
    "NOBODY",
    "NO_ANSWER",
    "NO_NODE",
    "NO_WATERMARK",
    "OF_CLUSTER",
    "OF_GROUP",
    "OF_TOPIC",
    "UNKNOWN_OFFSET",
    "ZERO_TOPIC_ID",
    "ActiveProducer",
    "Appended",
    "AskedTopic",
    "Assignor",
    "AssignorError",
    "Authorizer",
    "BadRecordsError",
    "Beating",
    "Charges",
    "Commit",
    "ConfigResourceType",
    "ConfigsToAlter",
    "Context",
    "CreatedTopic",
    "Delayed",
    "Described",
    "DescribedConsumerGroup",
    "DescribedConsumerMember",
    "DescribedLog",
    "DescribedMember",
    "DescribedTopic",
    "Encoded",
    "Endpoint",
    "ErrorCode",
    "Eventual",
    "Family",
    "FeatureChange",
    "FetchAnswer",
    "FetchKey",
    "FetchLimits",
    "FetchOffsets",
    "FetchedTopic",
    "Figure",
    "Forward",
    "GroupAssignment",
    "GroupFilter",
    "GroupHeartbeat",
    "GroupProtocol",
    "GroupSpec",
    "HeartbeatAnswer",
    "InspectedRequest",
    "Isolation",
    "Joined",
    "Joining",
    "KafkaError",
    "Kind",
    "LeaderEndpoints",
    "Leaving",
    "ListedGroup",
    "ListedOffset",
    "LogDirectory",
    "MemberSpec",
    "MetadataImage",
    "MetricsReporter",
    "Mount",
    "Mounts",
    "NewTopic",
    "NoBatchError",
    "Node",
    "NodeEndpoint",
    "NodeId",
    "OnlineDirectories",
    "Operation",
    "Outside",
    "OwnedTopic",
    "Pairs",
    "Partition",
    "PartitionOffset",
    "PartitionRead",
    "PartitionState",
    "Pending",
    "Plugin",
    "PluginContext",
    "PluginError",
    "PluginStatus",
    "Principal",
    "ProtocolError",
    "Purgatory",
    "QuotaChange",
    "QuotaEntity",
    "Reads",
    "Record",
    "RecordPosition",
    "RefusedError",
    "Registry",
    "Resource",
    "ResourceChanges",
    "ResourceType",
    "ResponseCache",
    "Row",
    "Selection",
    "Space",
    "Stamps",
    "Steps",
    "Synced",
    "Syncing",
    "TimedOutDeletionError",
    "TooSoonError",
    "TopicId",
    "TopicImage",
    "TopicOffsets",
    "TopicPartition",
    "TopicToCreate",
    "Upgrade",
    "Wanted",
    "Work",
    "active_producers",
    "alter_log_dir",
    "api",
    "boolean",
    "check_acks",
    "check_broker",
    "check_destination",
    "check_time_is_known",
    "check_topic_name",
    "client_host",
    "counted",
    "describe_broker",
    "describe_broker_defaults",
    "describe_group",
    "describe_logs",
    "describe_topic",
    "double",
    "encoded_in_steps",
    "endpoint_on",
    "endpoints_on",
    "epoch_end",
    "for_each",
    "in_slices",
    "in_steps",
    "inspect_requests",
    "integer",
    "is_internal",
    "isolation_of",
    "lazily",
    "logger_levels",
    "message_of",
    "offline_replicas",
    "online_directories",
    "parse_principal",
    "password",
    "plugin",
    "quota_filter",
    "quotas_that",
    "rows",
    "rows_of",
    "search_offset",
    "sorted_in_steps",
    "space_of",
    "special_offset",
    "string",
    "texts",
    "then",
    "to_bytes",
    "visit",
    "whole",
]
