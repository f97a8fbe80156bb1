"""The context of a handler."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.apis.authorizers import RuleAuthorizer, allow_only, deny_all
from trio_kafka.coordinators.groups.coordinator import GroupCoordinator
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import ConfigResourceType, MetadataImage
from trio_kafka.metadata.immutable_map import ImmutableMap
from trio_kafka.metadata.publisher import MetadataCache
from trio_kafka.model import Endpoint, TopicId
from trio_kafka.requests.context import Context
from trio_kafka.requests.parts import Features, MissingPartError, Parts
from trio_kafka.requests.registry import Registry
from trio_kafka.security.authorizer import ALLOW_ALL, Authorizer
from trio_kafka.security.operations import OF_GROUP, Operation
from trio_kafka.security.principal import Principal
from trio_kafka.security.resources import ResourceType
from trio_kafka.testing.planes import bare_request


class Peer:
    """A connection, as far as a context is concerned."""

    peer = Endpoint("there", 1)
    principal = Principal("User", "alice")

    class listener:  # noqa: N801 - stands for an attribute
        name = "CLIENTS"


def context(
    authorizer: Authorizer = ALLOW_ALL,
    topic_names: Mapping[TopicId, str] | None = None,
    *,
    peer: Peer | None = None,
) -> Context:
    request = bare_request(7, peer or Peer())
    request.client_id = "me"
    parts = Parts(apis=Registry(), cluster_id="c-1", authorizer=authorizer)
    parts.metadata = MetadataCache(MetadataImage(topic_names=ImmutableMap(topic_names or {})))
    return Context(request, parts, request.version)


def test_a_context_knows_request_and_connection() -> None:
    request_context = context()

    assert (request_context.version, request_context.correlation, request_context.client_id) == (
        0,
        7,
        "me",
    )
    assert (request_context.listener, request_context.peer) == ("CLIENTS", Endpoint("there", 1))
    assert request_context.connection is request_context.request.connection


@pytest.mark.parametrize(
    ("host", "printed"),
    [
        ("10.0.0.1", "/10.0.0.1"),
        ("::1", "/0:0:0:0:0:0:0:1"),
        ("fe80::a:0:1%eth0", "/fe80:0:0:0:0:a:0:1"),
        ("2001:db8::ffff", "/2001:db8:0:0:0:0:0:ffff"),
    ],
)
def test_the_host_of_a_client_is_printed_as_in_java(host: str, printed: str) -> None:
    peer = Peer()
    peer.peer = Endpoint(host, 1)

    assert context(peer=peer).client_host == printed


def test_context_finds_a_part_by_its_class() -> None:
    of_request = context()

    assert of_request[Registry] is of_request.parts.apis
    assert of_request[Features] is of_request.parts.features
    with pytest.raises(MissingPartError, match="no dict"):
        of_request[dict]


def test_use_of_a_missing_part_raises_an_error_that_names_the_part() -> None:
    with pytest.raises(MissingPartError, match="no group coordinator"):
        context()[GroupCoordinator].new_id()


def test_context_shows_the_current_cluster_id() -> None:
    of_request = context()

    assert of_request.cluster_id == "c-1"
    of_request.parts.cluster_id = "c-2"
    assert of_request.cluster_id == "c-2"


async def test_plain_handler_that_waits_raises_an_error() -> None:
    async def wait() -> Any: ...

    with pytest.raises(RuntimeError, match="return a Delayed"):
        await context().parked(wait)


class TestPermissions:
    @pytest.mark.parametrize(
        ("resource", "code"),
        [
            ({"topic": "x"}, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
            ({"group": "x"}, ErrorCode.GROUP_AUTHORIZATION_FAILED),
            ({"cluster": True}, ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
            ({"transactional_id": "x"}, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
            ({"token": "x"}, ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED),
            ({"user": "User:x"}, ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED),
        ],
    )
    def test_denied_operation_raises_the_error_code_of_its_resource_type(
        self, resource: dict[str, Any], code: ErrorCode
    ) -> None:
        with pytest.raises(KafkaError, match="User:alice has no permission READ on") as caught:
            context(deny_all()).authorize(Operation.READ, **resource)

        assert caught.value.code is code
        context().authorize(Operation.READ, **resource)
        assert context().is_authorized(Operation.READ, **resource)
        assert not context(deny_all()).is_authorized(Operation.READ, **resource)

    def test_authorizer_gets_principal_address_operation_and_resource_name(self) -> None:
        rule = allow_only("x")
        request_context = context(rule)

        assert request_context.is_authorized(Operation.READ, topic="x")
        assert not request_context.is_authorized(Operation.READ, topic="y")
        assert rule.principals == {(Principal("User", "alice"), "there")}
        assert rule.decisions == {(Operation.READ, ResourceType.TOPIC)}

    def test_authorize_rejects_calls_without_exactly_one_resource(self) -> None:
        for resource in ({}, {"topic": "x", "group": "x"}):
            with pytest.raises(ValueError, match="unpack"):
                context(deny_all()).authorize(Operation.READ, **resource)

    def test_a_topic_without_permission_is_denied_by_name_and_by_id(self) -> None:
        secret = TopicId(b"secret topic's ID")
        of_request = context(deny_all(), {secret: "x"})

        for topic in ("x", secret):
            with pytest.raises(KafkaError) as denial:
                of_request.authorize_on(Operation.READ, topic)
            assert (denial.value.code, denial.value.message) == (
                ErrorCode.TOPIC_AUTHORIZATION_FAILED,
                None,
            )

    def test_a_topic_id_that_does_not_exist_is_no_secret(self) -> None:
        context(deny_all()).authorize_on(Operation.READ, TopicId(b"?" * 16))

    def test_authorized_names_are_filtered_lazily(self) -> None:
        rule = RuleAuthorizer(lambda _, resource: resource.name > "b")
        result = context(rule).authorized(Operation.DESCRIBE, topics=["c", "a", "d"])

        assert not rule.decisions
        assert list(result) == ["c", "d"]
        names = ["c", "a"]
        assert context().authorized(Operation.DESCRIBE, groups=names) is names

    def test_authorized_operations_are_the_allowed_ones_that_apply_to_the_resource_type(
        self,
    ) -> None:
        allowed = (Operation.READ, Operation.DESCRIBE, Operation.CLUSTER_ACTION)
        request_context = context(RuleAuthorizer(lambda operation, _: operation in allowed))

        assert request_context.authorized_operations(topic="t") == 0b1_0000_1000
        assert request_context.authorized_operations(cluster=True) == 0b11_0000_0000
        assert context().authorized_operations(group="g") == OF_GROUP

    @pytest.mark.parametrize(
        ("kind", "code"),
        [
            (ConfigResourceType.TOPIC, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
            (ConfigResourceType.GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
            (ConfigResourceType.BROKER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
            (ConfigResourceType.BROKER_LOGGER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
            (ConfigResourceType.CLIENT_METRICS, ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        ],
    )
    def test_denied_access_to_settings_raises_the_error_of_topic_group_or_cluster(
        self, kind: int, code: ErrorCode
    ) -> None:
        with pytest.raises(KafkaError) as caught:
            context(deny_all()).authorize_settings(Operation.ALTER_CONFIGS, kind, "x")

        assert caught.value.code is code
