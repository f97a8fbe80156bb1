"""Examples of requests: for each API enough of them to need every permission that it can need."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from tests.apis.classic import join_request
from tests.apis.kit import batch, fetch_request, produce_request
from trio_kafka.metadata.image import ConfigResourceType
from trio_kafka.protocol.messages import k02_list_offsets as k02
from trio_kafka.protocol.messages import k03_metadata as k03
from trio_kafka.protocol.messages import k08_offset_commit as k08
from trio_kafka.protocol.messages import k09_offset_fetch as k09
from trio_kafka.protocol.messages import k13_leave_group as k13
from trio_kafka.protocol.messages import k19_create_topics as k19
from trio_kafka.protocol.messages import k20_delete_topics as k20
from trio_kafka.protocol.messages import k21_delete_records as k21
from trio_kafka.protocol.messages import k23_offset_for_leader_epoch as k23
from trio_kafka.protocol.messages import k24_add_partitions_to_txn as k24
from trio_kafka.protocol.messages import k27_write_txn_markers as k27
from trio_kafka.protocol.messages import k28_txn_offset_commit as k28
from trio_kafka.protocol.messages import k30_create_acls as k30
from trio_kafka.protocol.messages import k31_delete_acls as k31
from trio_kafka.protocol.messages import k32_describe_configs as k32
from trio_kafka.protocol.messages import k33_alter_configs as k33
from trio_kafka.protocol.messages import k34_alter_replica_log_dirs as k34
from trio_kafka.protocol.messages import k35_describe_log_dirs as k35
from trio_kafka.protocol.messages import k37_create_partitions as k37
from trio_kafka.protocol.messages import k44_incremental_alter_configs as k44
from trio_kafka.protocol.messages import k45_alter_partition_reassignments as k45
from trio_kafka.protocol.messages import k47_offset_delete as k47
from trio_kafka.protocol.messages import k49_alter_client_quotas as k49
from trio_kafka.protocol.messages import k51_alter_user_scram_credentials as k51
from trio_kafka.protocol.messages import k61_describe_producers as k61
from trio_kafka.protocol.messages import k75_describe_topic_partitions as k75
from trio_kafka.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from trio_kafka.protocol.messages.k12_heartbeat import HeartbeatRequest
from trio_kafka.protocol.messages.k14_sync_group import SyncGroupRequest
from trio_kafka.protocol.messages.k15_describe_groups import DescribeGroupsRequest
from trio_kafka.protocol.messages.k16_list_groups import ListGroupsRequest
from trio_kafka.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from trio_kafka.protocol.messages.k25_add_offsets_to_txn import AddOffsetsToTxnRequest
from trio_kafka.protocol.messages.k26_end_txn import EndTxnRequest
from trio_kafka.protocol.messages.k29_describe_acls import DescribeAclsRequest
from trio_kafka.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest
from trio_kafka.protocol.messages.k38_create_delegation_token import (
    CreateDelegationTokenRequest,
)
from trio_kafka.protocol.messages.k39_renew_delegation_token import RenewDelegationTokenRequest
from trio_kafka.protocol.messages.k40_expire_delegation_token import ExpireDelegationTokenRequest
from trio_kafka.protocol.messages.k41_describe_delegation_token import (
    DescribeDelegationTokenRequest,
)
from trio_kafka.protocol.messages.k42_delete_groups import DeleteGroupsRequest
from trio_kafka.protocol.messages.k43_elect_leaders import ElectLeadersRequest
from trio_kafka.protocol.messages.k46_list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
)
from trio_kafka.protocol.messages.k48_describe_client_quotas import DescribeClientQuotasRequest
from trio_kafka.protocol.messages.k50_describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
)
from trio_kafka.protocol.messages.k55_describe_quorum import DescribeQuorumRequest
from trio_kafka.protocol.messages.k57_update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
)
from trio_kafka.protocol.messages.k60_describe_cluster import DescribeClusterRequest
from trio_kafka.protocol.messages.k64_unregister_broker import UnregisterBrokerRequest
from trio_kafka.protocol.messages.k65_describe_transactions import DescribeTransactionsRequest
from trio_kafka.protocol.messages.k66_list_transactions import ListTransactionsRequest
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from trio_kafka.protocol.messages.k69_consumer_group_describe import ConsumerGroupDescribeRequest
from trio_kafka.protocol.messages.k71_get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
)
from trio_kafka.protocol.messages.k72_push_telemetry import PushTelemetryRequest
from trio_kafka.protocol.messages.k74_list_config_resources import ListConfigResourcesRequest
from trio_kafka.protocol.messages.k10001_describe_tree import DescribeTreeRequest
from trio_kafka.protocol.messages.k10002_list_plugins import ListPluginsRequest
from trio_kafka.protocol.messages.k10003_reload_plugin import ReloadPluginRequest
from trio_kafka.protocol.messages.k10004_run_job import RunJobRequest
from trio_kafka.protocol.messages.k10005_describe_client_metrics import (
    DescribeClientMetricsRequest,
)
from trio_kafka.protocol.messages.k10010_describe_requests import DescribeRequestsRequest
from trio_kafka.protocol.schema import message_of

KINDS: Final = tuple(ConfigResourceType)[1:]
PLUGIN: Final = "sample"
RETENTION: Final = "retention.ms"


class Names(NamedTuple):
    """Names in the requests. group: a classic group; consumers: one of the new protocol."""

    topic: str
    topic_id: bytes
    group: str
    consumers: str


class Example(NamedTuple):
    """A request in a version. lists: it names nothing, and so gets whatever may be seen."""

    request: Any
    version: int
    lists: bool = False

    @property
    def key(self) -> int:
        key = message_of(type(self.request)).key
        assert key is not None
        return key


def examples(names: Names) -> Iterator[Example]:
    yield from _of_topics(names)
    yield from _of_groups(names)
    yield from _of_cluster(names)


def _of_topics(names: Names) -> Iterator[Example]:
    topic, topic_id = names.topic, names.topic_id
    yield Example(produce_request(topic, (0, batch(b"x"))), 12)
    yield Example(produce_request(topic_id, (0, batch(b"x"))), 13)
    transactional = produce_request(topic, (0, _transactional()))
    transactional.transactional_id = "transaction"
    yield Example(transactional, 12)
    yield Example(fetch_request(topic, 0), 12)
    yield Example(fetch_request(topic_id, 0), 17)
    yield Example(fetch_request(topic, 0, replica_id=5), 12)
    topics = [k02.ListOffsetsTopic(topic, [k02.ListOffsetsPartition(0, timestamp=-1)])]
    yield Example(k02.ListOffsetsRequest(replica_id=-1, topics=topics), 10)
    yield Example(k03.MetadataRequest(topics=None), 13, lists=True)
    yield Example(k03.MetadataRequest(topics=[k03.MetadataRequestTopic(name=topic)]), 13)
    yield Example(k03.MetadataRequest(topics=[k03.MetadataRequestTopic(topic_id, None)]), 13)
    missing = [k03.MetadataRequestTopic(name="missing")]
    yield Example(k03.MetadataRequest(topics=missing, allow_auto_topic_creation=True), 13)
    yield Example(k19.CreateTopicsRequest([k19.CreatableTopic("new", 1, 1)]), 7)
    yield Example(k20.DeleteTopicsRequest(topic_names=[topic], timeout_ms=1000), 5)
    by_id = [k20.DeleteTopicState(topic_id=topic_id)]
    yield Example(k20.DeleteTopicsRequest(topics=by_id, timeout_ms=1000), 6)
    below = k21.DeleteRecordsTopic(topic, [k21.DeleteRecordsPartition(0, 0)])
    yield Example(k21.DeleteRecordsRequest([below], 1000), 2)
    epoch = k23.OffsetForLeaderPartition(0, -1, 0)
    yield Example(
        k23.OffsetForLeaderEpochRequest(topics=[k23.OffsetForLeaderTopic(topic, [epoch])]), 4
    )
    grown = [k37.CreatePartitionsTopic(topic, 9, None)]
    yield Example(k37.CreatePartitionsRequest(grown, 1000), 3)
    yield Example(k61.DescribeProducersRequest([k61.TopicRequest(topic, [0])]), 0)
    yield Example(k75.DescribeTopicPartitionsRequest(), 0, lists=True)
    yield Example(k75.DescribeTopicPartitionsRequest([k75.TopicRequest(topic)]), 0)


def _transactional() -> memoryview:
    fields = {"producer_id": 1, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
    return batch(b"x", **fields)


def _of_groups(names: Names) -> Iterator[Example]:
    topic, topic_id, group = names.topic, names.topic_id, names.group
    offset = k08.OffsetCommitRequestPartition(0, 7)
    for named in ({"name": topic}, {"topic_id": topic_id}):
        commit = k08.OffsetCommitRequestTopic(**named, partitions=[offset])
        yield Example(k08.OffsetCommitRequest(group, topics=[commit]), 9 + ("topic_id" in named))
        pending = k28.TxnOffsetCommitRequestTopic(
            **named, partitions=[k28.TxnOffsetCommitRequestPartition(0, 7)]
        )
        yield Example(
            k28.TxnOffsetCommitRequest("transaction", group, 1, 0, topics=[pending]),
            5 + ("topic_id" in named),
        )
    marked = k27.WritableTxnMarker(1, 0, True, [k27.WritableTxnMarkerTopic(topic, [0])], 0)
    yield Example(k27.WriteTxnMarkersRequest([marked]), 2)
    topics_by_name = [k09.OffsetFetchRequestTopic(topic, [0])]
    yield Example(k09.OffsetFetchRequest(group_id=group, topics=topics_by_name), 7)
    yield Example(k09.OffsetFetchRequest(group_id=group, topics=None), 7)
    topics_by_id = [k09.OffsetFetchRequestTopics(topic, topic_id, [0])]
    for topics in (topics_by_id, None):
        groups = [k09.OffsetFetchRequestGroup(group, topics=topics)]
        yield Example(k09.OffsetFetchRequest(groups=groups), 9)
        yield Example(k09.OffsetFetchRequest(groups=groups), 10)
    for kind in range(3):
        keys = [f"{group}:{'A' * 22}:0" if kind == 2 else group]
        yield Example(FindCoordinatorRequest(key_type=kind, coordinator_keys=keys), 6)
    yield Example(FindCoordinatorRequest(group), 3)
    yield Example(join_request(9, group=group), 9)
    yield Example(HeartbeatRequest(group, 1, "member"), 4)
    yield Example(k13.LeaveGroupRequest(group, members=[k13.MemberIdentity("member")]), 5)
    yield Example(k13.LeaveGroupRequest(group, "member"), 2)
    yield Example(SyncGroupRequest(group, 1, "member", None, "consumer", "range"), 5)
    yield Example(DescribeGroupsRequest([group]), 6)
    yield Example(ListGroupsRequest(), 5, lists=True)
    yield Example(DeleteGroupsRequest([group]), 2)
    forgotten = k47.OffsetDeleteRequestTopic(topic, [k47.OffsetDeleteRequestPartition(0)])
    yield Example(k47.OffsetDeleteRequest(group, [forgotten]), 0)
    joining = ConsumerGroupHeartbeatRequest(
        names.consumers,
        "new-member",
        0,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=[topic],
        topic_partitions=[],
    )
    yield Example(joining, 1)
    yield Example(ConsumerGroupDescribeRequest([names.consumers]), 1)


def _of_cluster(names: Names) -> Iterator[Example]:
    named = {ConfigResourceType.TOPIC: names.topic, ConfigResourceType.GROUP: names.group}
    for kind in KINDS:
        name = named.get(kind, "1")
        yield Example(k32.DescribeConfigsRequest([k32.DescribeConfigsResource(kind, name)]), 4)
        changed = k44.AlterableConfig(RETENTION, 0, "7")
        replaced = k33.AlterConfigsResource(kind, name, [k33.AlterableConfig(RETENTION, "7")])
        if kind == ConfigResourceType.BROKER_LOGGER:
            changed = k44.AlterableConfig("root", 0, "DEBUG")
        else:
            yield Example(k33.AlterConfigsRequest([replaced]), 2)
        resource = k44.AlterConfigsResource(kind, name, [changed])
        yield Example(k44.IncrementalAlterConfigsRequest([resource]), 1)
    yield Example(ApiVersionsRequest("client", "1.0"), 4)
    yield Example(SaslHandshakeRequest("PLAIN"), 1)
    yield Example(SaslAuthenticateRequest(b"token"), 2)
    yield Example(DescribeUserScramCredentialsRequest(None), 0, lists=True)
    removed = k51.ScramCredentialDeletion("secret-user", 1)
    yield Example(k51.AlterUserScramCredentialsRequest([removed]), 0)
    yield Example(CreateDelegationTokenRequest("User", "secret-user", [], -1), 3)
    yield Example(RenewDelegationTokenRequest(b"hmac", -1), 2)
    yield Example(ExpireDelegationTokenRequest(b"hmac", -1), 2)
    yield Example(DescribeDelegationTokenRequest(None), 3, lists=True)
    yield Example(InitProducerIdRequest(None, 1000), 5)
    yield Example(InitProducerIdRequest("transaction", 1000), 5)
    yield Example(InitProducerIdRequest("transaction", 1000, enable2_pc=True), 6)
    yield from _of_transactions(names)
    yield Example(DescribeClientQuotasRequest(), 1, lists=True)
    yield Example(DescribeAclsRequest(1, None, 1, None, None, 1, 1), 3, lists=True)
    created = k30.AclCreation(2, names.topic, 3, "User:secret-user", "*", 3, 3)
    yield Example(k30.CreateAclsRequest([created]), 3)
    deleted = k31.DeleteAclsFilter(2, names.topic, 3, "User:secret-user", "*", 3, 3)
    yield Example(k31.DeleteAclsRequest([deleted]), 3)
    quota = k49.EntryData([k49.EntityData("user", "u")], [k49.OpData("producer_byte_rate", 9.0)])
    yield Example(k49.AlterClientQuotasRequest([quota]), 1)
    yield Example(UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey("kraft.version", 1)]), 2)
    yield Example(DescribeClusterRequest(include_cluster_authorized_operations=True), 2)
    yield Example(ElectLeadersRequest(topic_partitions=[]), 2)
    yield Example(DescribeQuorumRequest(), 2)
    yield Example(UnregisterBrokerRequest(7), 0)
    yield Example(GetTelemetrySubscriptionsRequest(bytes(16)), 0)
    yield Example(PushTelemetryRequest(b"i" * 16), 0)
    moved = k34.AlterReplicaLogDir("/data", [k34.AlterReplicaLogDirTopic(names.topic, [0])])
    yield Example(k34.AlterReplicaLogDirsRequest([moved]), 2)
    same = k45.ReassignableTopic(names.topic, [k45.ReassignablePartition(0, [1])])
    yield Example(k45.AlterPartitionReassignmentsRequest(topics=[same]), 1)
    yield Example(ListPartitionReassignmentsRequest(), 0, lists=True)
    yield Example(k35.DescribeLogDirsRequest(None), 5)
    yield Example(ListConfigResourcesRequest(), 1, lists=True)
    yield Example(DescribeTreeRequest(), 1, lists=True)
    yield Example(ListPluginsRequest(), 0, lists=True)
    yield Example(ReloadPluginRequest(PLUGIN), 0)
    yield Example(RunJobRequest("kafka-log-retention"), 0)
    yield Example(DescribeClientMetricsRequest(), 0)
    yield Example(DescribeRequestsRequest(), 1, lists=True)


def _of_transactions(names: Names) -> Iterator[Example]:
    topics = [k24.AddPartitionsToTxnTopic(names.topic, [0])]
    added = k24.AddPartitionsToTxnTransaction("transaction", 1, 0, False, topics)
    yield Example(
        k24.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="transaction", v3_and_below_topics=topics
        ),
        3,
    )
    yield Example(k24.AddPartitionsToTxnRequest([added]), 5)
    yield Example(AddOffsetsToTxnRequest("transaction", 1, 0, names.group), 4)
    yield Example(EndTxnRequest("transaction", 1, 0, True), 5)
    yield Example(DescribeTransactionsRequest(["transaction"]), 0)
    yield Example(ListTransactionsRequest(), 2, lists=True)
