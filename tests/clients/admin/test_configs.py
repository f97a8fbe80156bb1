"""Requests about settings: where they go, and what their answers say."""

import pytest

from tests.clients.admin.kit import Cluster
from trio_kafka.clients.admin.config_values import (
    AlterConfigOp,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
    ConfigType,
    OpType,
)
from trio_kafka.clients.admin.configs import (
    describe_configs,
    incremental_alter_configs,
    list_config_resources,
)
from trio_kafka.protocol.messages.k32_describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from trio_kafka.protocol.messages.k44_incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from trio_kafka.protocol.messages.k74_list_config_resources import (
    ConfigResource as ResourceRow,
)
from trio_kafka.protocol.messages.k74_list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

TOPIC = ConfigResource(ConfigResourceType.TOPIC, "t")
BROKER = ConfigResource(ConfigResourceType.BROKER, "2")
BROKERS = ConfigResource(ConfigResourceType.BROKER, "")
LOGGER = ConfigResource(ConfigResourceType.BROKER_LOGGER, "1")
GROUP = ConfigResource(ConfigResourceType.GROUP, "g")


def described(request):
    synonym = DescribeConfigsSynonym("log.x", "2", 4)
    config = DescribeConfigsResourceResult("x", "1", False, 1, False, [synonym], 5, "doc")
    rows = [
        DescribeConfigsResult(0, None, row.resource_type, row.resource_name, [config])
        for row in request.resources
    ]
    unknown = DescribeConfigsResult(0, None, 99, "t", [])
    return DescribeConfigsResponse(results=[unknown, *rows])


def test_brokers_are_asked_for_their_own_settings_and_loggers():
    cluster = Cluster({DescribeConfigsRequest: described})
    resources = [TOPIC, BROKER, BROKERS, LOGGER, GROUP]

    results = cluster.run(describe_configs(resources, names=["x"], include_synonyms=True))

    assert list(results.all()) == resources
    nodes = {
        (row.resource_type, row.resource_name): node
        for node, request in cluster.requests
        for row in request.resources
    }
    assert nodes == {(2, "t"): None, (4, ""): None, (32, "g"): None, (4, "2"): 2, (8, "1"): 1}
    request = cluster.requests[0][1]
    assert (request.include_synonyms, request.include_documentation) == (True, False)
    assert request.resources[0].configuration_keys == ["x"]


def test_entry_has_source_type_and_synonyms():
    entry = Cluster({DescribeConfigsRequest: described}).run(describe_configs([TOPIC]))[TOPIC]["x"]

    assert (entry.source, entry.type) == (ConfigSource.DYNAMIC_TOPIC_CONFIG, ConfigType.LONG)
    (synonym,) = entry.synonyms
    assert (synonym.name, synonym.value) == ("log.x", "2")
    assert synonym.source is ConfigSource.STATIC_BROKER_CONFIG
    assert (entry.documentation, entry.is_default) == ("doc", False)


def test_broker_without_a_number_is_an_error():
    with pytest.raises(ValueError, match="broker 'x': want a node id"):
        describe_configs([ConfigResource(ConfigResourceType.BROKER, "x")])


def test_changes_have_the_numbers_of_kafka():
    def answer(request):
        rows = [
            AlterConfigsResourceResponse(40, "no", row.resource_type, row.resource_name)
            for row in request.resources
        ]
        return IncrementalAlterConfigsResponse(responses=rows)

    cluster = Cluster({IncrementalAlterConfigsRequest: answer})
    ops = [AlterConfigOp(kind.name, None, kind) for kind in OpType]

    results = cluster.run(incremental_alter_configs({TOPIC: ops, GROUP: []}, validate_only=True))

    ((_, request),) = cluster.requests
    assert [(row.name, row.config_operation) for row in request.resources[0].configs] == [
        ("SET", 0),
        ("DELETE", 1),
        ("APPEND", 2),
        ("SUBTRACT", 3),
    ]
    assert request.validate_only
    assert (results.errors[TOPIC].topic, results.errors[GROUP].group) == ("t", "g")


def test_resources_of_unknown_types_are_left_out():
    rows = [ResourceRow("g", 32), ResourceRow("x", 99)]
    response = ListConfigResourcesResponse(config_resources=rows)
    cluster = Cluster({ListConfigResourcesRequest: lambda _request: response})

    assert cluster.run(list_config_resources()) == [GROUP]
