"""Kafka's admin client: calls, and what they consist of. Only `opening` uses Trio.

    from trio_kafka.clients.admin import NewTopic

`calls` has the parts of a call and the machine that runs it. Each other module declares the calls
about one thing: their request builders, their answer readers, and the values that they return.
`operations` lists them for both clients: `opening` on Trio, `trio_kafka.clients.blocking` without.
"""

from typing import TYPE_CHECKING, Final

from trio_kafka.rare_collections import late_names

if TYPE_CHECKING:
    from trio_kafka.clients.admin.acls import Acl as Acl
    from trio_kafka.clients.admin.acls import AclFilter as AclFilter
    from trio_kafka.clients.admin.acls import Operation as Operation
    from trio_kafka.clients.admin.acls import PatternType as PatternType
    from trio_kafka.clients.admin.acls import PermissionType as PermissionType
    from trio_kafka.clients.admin.acls import ResourceType as ResourceType
    from trio_kafka.clients.admin.calls.results import Results as Results
    from trio_kafka.clients.admin.cluster import ClusterDescription as ClusterDescription
    from trio_kafka.clients.admin.cluster import ClusterNode as ClusterNode
    from trio_kafka.clients.admin.config_values import AlterConfigOp as AlterConfigOp
    from trio_kafka.clients.admin.config_values import ConfigEntry as ConfigEntry
    from trio_kafka.clients.admin.config_values import ConfigResource as ConfigResource
    from trio_kafka.clients.admin.config_values import ConfigResourceType as ConfigResourceType
    from trio_kafka.clients.admin.config_values import ConfigSource as ConfigSource
    from trio_kafka.clients.admin.config_values import ConfigSynonym as ConfigSynonym
    from trio_kafka.clients.admin.config_values import ConfigType as ConfigType
    from trio_kafka.clients.admin.config_values import OpType as OpType
    from trio_kafka.clients.admin.features import FeatureMetadata as FeatureMetadata
    from trio_kafka.clients.admin.features import FeatureUpdate as FeatureUpdate
    from trio_kafka.clients.admin.features import UpgradeType as UpgradeType
    from trio_kafka.clients.admin.group_values import (
        ClassicGroupDescription as ClassicGroupDescription,
    )
    from trio_kafka.clients.admin.group_values import ClassicMember as ClassicMember
    from trio_kafka.clients.admin.group_values import (
        ConsumerGroupDescription as ConsumerGroupDescription,
    )
    from trio_kafka.clients.admin.group_values import GroupListing as GroupListing
    from trio_kafka.clients.admin.group_values import MemberDescription as MemberDescription
    from trio_kafka.clients.admin.groups import MemberToRemove as MemberToRemove
    from trio_kafka.clients.admin.listings import Listings as Listings
    from trio_kafka.clients.admin.log_dirs import LogDirDescription as LogDirDescription
    from trio_kafka.clients.admin.log_dirs import ReplicaInfo as ReplicaInfo
    from trio_kafka.clients.admin.log_dirs import TopicPartitionReplica as TopicPartitionReplica
    from trio_kafka.clients.admin.producers import AbortTransactionSpec as AbortTransactionSpec
    from trio_kafka.clients.admin.producers import ProducerState as ProducerState
    from trio_kafka.clients.admin.quorum import ElectionType as ElectionType
    from trio_kafka.clients.admin.quorum import QuorumInfo as QuorumInfo
    from trio_kafka.clients.admin.quorum import QuorumReplica as QuorumReplica
    from trio_kafka.clients.admin.quotas import ClientQuotaEntity as ClientQuotaEntity
    from trio_kafka.clients.admin.quotas import (
        ClientQuotaFilterComponent as ClientQuotaFilterComponent,
    )
    from trio_kafka.clients.admin.quotas import quota_entity as quota_entity
    from trio_kafka.clients.admin.reassignments import (
        PartitionReassignment as PartitionReassignment,
    )
    from trio_kafka.clients.admin.records import EARLIEST as EARLIEST
    from trio_kafka.clients.admin.records import EARLIEST_LOCAL as EARLIEST_LOCAL
    from trio_kafka.clients.admin.records import EARLIEST_PENDING_UPLOAD as EARLIEST_PENDING_UPLOAD
    from trio_kafka.clients.admin.records import HIGH_WATERMARK as HIGH_WATERMARK
    from trio_kafka.clients.admin.records import LATEST as LATEST
    from trio_kafka.clients.admin.records import LATEST_TIERED as LATEST_TIERED
    from trio_kafka.clients.admin.records import MAX_TIMESTAMP as MAX_TIMESTAMP
    from trio_kafka.clients.admin.records import ListOffsetsResultInfo as ListOffsetsResultInfo
    from trio_kafka.clients.admin.records import OffsetSpec as OffsetSpec
    from trio_kafka.clients.admin.records import for_timestamp as for_timestamp
    from trio_kafka.clients.admin.tokens import DelegationToken as DelegationToken
    from trio_kafka.clients.admin.topic_values import CreatedTopic as CreatedTopic
    from trio_kafka.clients.admin.topic_values import NewPartitions as NewPartitions
    from trio_kafka.clients.admin.topic_values import NewTopic as NewTopic
    from trio_kafka.clients.admin.topic_values import TopicDescription as TopicDescription
    from trio_kafka.clients.admin.topic_values import TopicListing as TopicListing
    from trio_kafka.clients.admin.topic_values import TopicPartitionInfo as TopicPartitionInfo
    from trio_kafka.clients.admin.transactions import FencedProducer as FencedProducer
    from trio_kafka.clients.admin.transactions import (
        TransactionDescription as TransactionDescription,
    )
    from trio_kafka.clients.admin.transactions import TransactionListing as TransactionListing
    from trio_kafka.clients.admin.users import ScramCredentialInfo as ScramCredentialInfo
    from trio_kafka.clients.admin.users import (
        UserScramCredentialDeletion as UserScramCredentialDeletion,
    )
    from trio_kafka.clients.admin.users import (
        UserScramCredentialUpsertion as UserScramCredentialUpsertion,
    )
    from trio_kafka.clients.admin.users import scram_upsertion as scram_upsertion

# Imported on first use: messages take long to import.
_NAMES: Final = {
    "acls": (
        "Acl",
        "AclFilter",
        "Operation",
        "PatternType",
        "PermissionType",
        "ResourceType",
    ),
    "calls.results": ("Results",),
    "cluster": (
        "ClusterDescription",
        "ClusterNode",
    ),
    "config_values": (
        "AlterConfigOp",
        "ConfigEntry",
        "ConfigResource",
        "ConfigResourceType",
        "ConfigSource",
        "ConfigSynonym",
        "ConfigType",
        "OpType",
    ),
    "features": (
        "FeatureMetadata",
        "FeatureUpdate",
        "UpgradeType",
    ),
    "group_values": (
        "ClassicGroupDescription",
        "ClassicMember",
        "ConsumerGroupDescription",
        "GroupListing",
        "MemberDescription",
    ),
    "groups": ("MemberToRemove",),
    "listings": ("Listings",),
    "log_dirs": (
        "LogDirDescription",
        "ReplicaInfo",
        "TopicPartitionReplica",
    ),
    "producers": (
        "AbortTransactionSpec",
        "ProducerState",
    ),
    "quorum": (
        "ElectionType",
        "QuorumInfo",
        "QuorumReplica",
    ),
    "quotas": (
        "ClientQuotaEntity",
        "ClientQuotaFilterComponent",
        "quota_entity",
    ),
    "reassignments": ("PartitionReassignment",),
    "records": (
        "EARLIEST",
        "EARLIEST_LOCAL",
        "EARLIEST_PENDING_UPLOAD",
        "HIGH_WATERMARK",
        "LATEST",
        "LATEST_TIERED",
        "MAX_TIMESTAMP",
        "ListOffsetsResultInfo",
        "OffsetSpec",
        "for_timestamp",
    ),
    "tokens": ("DelegationToken",),
    "topic_values": (
        "CreatedTopic",
        "NewPartitions",
        "NewTopic",
        "TopicDescription",
        "TopicListing",
        "TopicPartitionInfo",
    ),
    "transactions": (
        "FencedProducer",
        "TransactionDescription",
        "TransactionListing",
    ),
    "users": (
        "ScramCredentialInfo",
        "UserScramCredentialDeletion",
        "UserScramCredentialUpsertion",
        "scram_upsertion",
    ),
}

__all__ = [
    "EARLIEST",
    "EARLIEST_LOCAL",
    "EARLIEST_PENDING_UPLOAD",
    "HIGH_WATERMARK",
    "LATEST",
    "LATEST_TIERED",
    "MAX_TIMESTAMP",
    "AbortTransactionSpec",
    "Acl",
    "AclFilter",
    "AlterConfigOp",
    "ClassicGroupDescription",
    "ClassicMember",
    "ClientQuotaEntity",
    "ClientQuotaFilterComponent",
    "ClusterDescription",
    "ClusterNode",
    "ConfigEntry",
    "ConfigResource",
    "ConfigResourceType",
    "ConfigSource",
    "ConfigSynonym",
    "ConfigType",
    "ConsumerGroupDescription",
    "CreatedTopic",
    "DelegationToken",
    "ElectionType",
    "FeatureMetadata",
    "FeatureUpdate",
    "FencedProducer",
    "GroupListing",
    "ListOffsetsResultInfo",
    "Listings",
    "LogDirDescription",
    "MemberDescription",
    "MemberToRemove",
    "NewPartitions",
    "NewTopic",
    "OffsetSpec",
    "OpType",
    "Operation",
    "PartitionReassignment",
    "PatternType",
    "PermissionType",
    "ProducerState",
    "QuorumInfo",
    "QuorumReplica",
    "ReplicaInfo",
    "ResourceType",
    "Results",
    "ScramCredentialInfo",
    "TopicDescription",
    "TopicListing",
    "TopicPartitionInfo",
    "TopicPartitionReplica",
    "TransactionDescription",
    "TransactionListing",
    "UpgradeType",
    "UserScramCredentialDeletion",
    "UserScramCredentialUpsertion",
    "for_timestamp",
    "quota_entity",
    "scram_upsertion",
]


__getattr__ = late_names(__name__, _NAMES)
