"""Resources that an authorizer guards: their types and names, and the error of a denial.

Source: ResourceType, Resource and AclEntry of Apache Kafka 4.4.0.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from trio_kafka.errors import ErrorCode
from trio_kafka.security.operations import OF_CLUSTER, OF_GROUP, OF_TOPIC


class ResourceType(IntEnum):
    """Type of a resource (int8 in messages and records of ACLs)."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class Resource(NamedTuple):
    """One resource, named literally. A user is named as a principal: `User:alice`."""

    type: ResourceType
    name: str


THE_CLUSTER: Final = Resource(ResourceType.CLUSTER, "kafka-cluster")

DENIALS: Final[Mapping[ResourceType, ErrorCode]] = {
    ResourceType.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ResourceType.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ResourceType.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ResourceType.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ResourceType.DELEGATION_TOKEN: ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
    # A token of another user is refused by the token's error.
    ResourceType.USER: ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
}
"""Error code with which Kafka denies an operation on a resource of each type."""

OPERATIONS: Final[Mapping[ResourceType, int]] = {
    ResourceType.TOPIC: OF_TOPIC,
    ResourceType.GROUP: OF_GROUP,
    ResourceType.CLUSTER: OF_CLUSTER,
}
"""Bit field of every operation that applies to a type, where a response can carry one (KIP-430)."""
