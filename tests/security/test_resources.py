"""Resources of an authorizer, and the errors of denials."""

from trio_kafka.errors import ErrorCode
from trio_kafka.security.operations import OF_CLUSTER, OF_GROUP, OF_TOPIC
from trio_kafka.security.resources import DENIALS, OPERATIONS, THE_CLUSTER, ResourceType


def test_every_resource_type_has_an_authorization_error() -> None:
    assert DENIALS.keys() == set(ResourceType) - {ResourceType.UNKNOWN, ResourceType.ANY}
    assert DENIALS[THE_CLUSTER.type] is ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_authorized_operations_are_defined_for_topics_groups_and_the_cluster() -> None:
    assert OPERATIONS == {
        ResourceType.TOPIC: OF_TOPIC,
        ResourceType.GROUP: OF_GROUP,
        ResourceType.CLUSTER: OF_CLUSTER,
    }
