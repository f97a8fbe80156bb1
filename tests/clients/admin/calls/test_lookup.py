"""Lookups of leaders, coordinators and brokers."""

from tests.clients.admin.kit import Cluster
from trio_kafka.clients.admin.calls.lookup import Lookup
from trio_kafka.clients.admin.calls.targets import (
    ANY,
    CONTROLLER,
    BrokerTarget,
    LeaderTarget,
    group_target,
    transaction_target,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.model import Endpoint, TopicPartition
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from trio_kafka.protocol.messages.k10_find_coordinator import Coordinator, FindCoordinatorResponse

T0, T1 = (LeaderTarget(TopicPartition("t", number)) for number in range(2))


def test_any_broker_and_at_first_the_controller_need_no_lookup():
    lookup = Lookup()

    assert (lookup.is_known(ANY), lookup.node(ANY)) == (True, None)
    assert (lookup.is_known(CONTROLLER), lookup.node(CONTROLLER)) == (True, None)
    lookup.forget(CONTROLLER)
    assert not lookup.is_known(CONTROLLER)


def test_leaders_and_brokers_are_looked_up_by_one_request_that_creates_no_topic():
    lookup = Lookup()

    (request,) = lookup.requests([T0, T1, BrokerTarget(2)])
    failures = request.read(Cluster().metadata(request.request))

    assert [topic.name for topic in request.request.topics] == ["t"]
    assert not request.request.allow_auto_topic_creation
    assert not failures
    assert (lookup.node(T0), lookup.node(T1), lookup.node(BrokerTarget(2))) == (1, 2, 2)
    assert lookup.addresses[2] == Endpoint("h2", 9092)


def test_partition_without_a_leader_or_with_one_that_has_no_address_is_looked_up_again():
    lookup = Lookup()
    rows = [
        MetadataResponsePartition(partition_index=0, leader_id=-1),
        MetadataResponsePartition(partition_index=1, leader_id=9),
    ]
    response = MetadataResponse(
        brokers=[MetadataResponseBroker(1, "h1", 9092)],
        topics=[MetadataResponseTopic(0, "t", partitions=rows)],
    )

    (request,) = lookup.requests([T0, T1])
    failures = request.read(response)

    assert {failures[target].code for target in (T0, T1)} == {ErrorCode.LEADER_NOT_AVAILABLE}
    assert not lookup.is_known(T0)


def test_coordinators_of_one_kind_are_looked_up_together():
    lookup = Lookup()
    targets = [group_target("a"), group_target("bb"), transaction_target("a")]

    requests = lookup.requests(targets)

    assert [
        (request.request.key_type, request.request.coordinator_keys) for request in requests
    ] == [(0, ["a", "bb"]), (1, ["a"])]
    rows = [Coordinator("a", 4, "h4", 1), Coordinator("bb", error_code=15)]
    failures = requests[0].read(FindCoordinatorResponse(coordinators=rows))
    assert lookup.node(targets[0]) == 4
    assert failures[targets[1]].code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert not lookup.is_known(targets[2])


def test_older_brokers_are_asked_for_one_coordinator_at_a_time():
    lookup = Lookup()
    lookup.has_batches = False
    targets = [group_target("a"), group_target("b")]

    first, second = lookup.requests(targets)
    first.read(FindCoordinatorResponse(node_id=4, host="h4", port=1))

    assert (first.request.key, second.request.key, first.at_most) == ("a", "b", 3)
    assert (lookup.node(targets[0]), lookup.is_known(targets[1])) == (4, False)
