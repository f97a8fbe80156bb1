"""Scenarios of the admin client as plans: both clients run them, against either broker.

Each takes a name that nothing else in the cluster has.
"""

from collections.abc import Callable
from typing import Any

from trio_kafka.clients.admin.acls import (
    Acl,
    AclFilter,
    Operation,
    PatternType,
    ResourceType,
    create_acls,
    delete_acls,
    describe_acls,
)
from trio_kafka.clients.admin.calls.call import Plan
from trio_kafka.clients.admin.cluster import describe_cluster
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
from trio_kafka.clients.admin.features import FeatureUpdate, describe_features, update_features
from trio_kafka.clients.admin.group_descriptions import (
    describe_classic_groups,
    describe_consumer_groups,
    list_groups,
)
from trio_kafka.clients.admin.group_offsets import (
    alter_consumer_group_offsets,
    delete_consumer_group_offsets,
    list_consumer_group_offsets,
)
from trio_kafka.clients.admin.groups import MemberToRemove, delete_groups
from trio_kafka.clients.admin.groups import (
    remove_members_from_consumer_group as remove_members,
)
from trio_kafka.clients.admin.log_dirs import (
    TopicPartitionReplica,
    alter_replica_log_dirs,
    describe_log_dirs,
)
from trio_kafka.clients.admin.producers import (
    AbortTransactionSpec,
    abort_transaction,
    describe_producers,
)
from trio_kafka.clients.admin.quorum import (
    ElectionType,
    describe_metadata_quorum,
    elect_leaders,
    unregister_broker,
)
from trio_kafka.clients.admin.quotas import (
    ClientQuotaFilterComponent,
    alter_client_quotas,
    describe_client_quotas,
    quota_entity,
)
from trio_kafka.clients.admin.reassignments import (
    alter_partition_reassignments,
    list_partition_reassignments,
)
from trio_kafka.clients.admin.records import (
    EARLIEST,
    HIGH_WATERMARK,
    LATEST,
    MAX_TIMESTAMP,
    delete_records,
    for_timestamp,
    list_offsets,
)
from trio_kafka.clients.admin.topic_descriptions import describe_topics, list_topics
from trio_kafka.clients.admin.topic_values import NewPartitions, NewTopic
from trio_kafka.clients.admin.topics import create_partitions, create_topics, delete_topics
from trio_kafka.clients.admin.transactions import (
    describe_transactions,
    fence_producers,
    list_transactions,
)
from trio_kafka.clients.consumer.values import OffsetAndMetadata
from trio_kafka.clients.errors import ClientError, TopicError, UnsupportedError
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition

Scenario = Callable[[str], Plan[Any]]
TIME_MS = 1_700_000_000_000  # of the first record that the tests write


def codes(results: Any) -> dict[Any, str]:
    return {item: error.code.name for item, error in results.errors.items()}


def new_topic(name: str, partitions: int = 1, **configs: str) -> Plan[list[TopicPartition]]:
    topic = NewTopic(name, num_partitions=partitions, configs=configs)
    (yield from create_topics([topic])).all()
    ats = [TopicPartition(name, number) for number in range(partitions)]
    (yield from list_offsets(dict.fromkeys(ats, LATEST))).all()  # they have leaders now
    return ats


def eventually(ask: Callable[[], Plan[Any]], expected: Any) -> Plan[None]:
    """Ask until the answer is as expected: a broker learns of a change after its controller."""
    for _ in range(1000):
        if (yield from ask()) == expected:
            return
    assert (yield from ask()) == expected


def topics_are_created_with_numbers_and_settings_and_each_failure_is_one_of_its_topic(name):
    results = yield from create_topics(
        [
            NewTopic(name, num_partitions=3, configs={"retention.ms": "12345"}),
            NewTopic(f"{name}-placed", replicas_assignments={0: [1], 1: [1]}),
            NewTopic(f"{name} wrong"),
            NewTopic(f"{name}-many", num_partitions=1, replication_factor=9),
            NewTopic(f"{name}-config", configs={"no.such": "1"}),
        ]
    )
    again = yield from create_topics([NewTopic(name)])

    assert codes(results) == {
        f"{name} wrong": "INVALID_TOPIC_EXCEPTION",
        f"{name}-many": "INVALID_REPLICATION_FACTOR",
        f"{name}-config": "INVALID_CONFIG",
    }
    created = results[name]
    assert (created.num_partitions, created.replication_factor) == (3, 1)
    assert created.configs["retention.ms"] == "12345"
    assert results[f"{name}-placed"].num_partitions == 2
    assert codes(again) == {name: "TOPIC_ALREADY_EXISTS"}
    assert again.errors[name].topic == name
    yield from delete_topics([name, f"{name}-placed"])


def topic_that_is_only_validated_is_not_created(name):
    results = yield from create_topics([NewTopic(name)], validate_only=True)

    assert results[name].num_partitions == 1
    assert name not in (yield from list_topics())


def topics_are_listed_and_described_by_name_and_id(name):
    yield from new_topic(name, 2)
    listing = (yield from list_topics())[name]
    results = yield from describe_topics(
        [name, f"{name}-missing"], include_authorized_operations=True
    )
    by_id = yield from describe_topics([listing.topic_id, bytes(15) + b"x"])
    paged = yield from describe_topics([name], partition_size_limit_per_response=1)

    description = results[name]
    assert (description.name, description.topic_id) == (name, listing.topic_id)
    assert [info.partition for info in description.partitions] == [0, 1]
    assert all(
        (info.leader, info.replicas, info.isr) == (1, (1,), (1,)) for info in description.partitions
    )
    assert "DESCRIBE_CONFIGS" in description.authorized_operations
    assert codes(results) == {f"{name}-missing": "UNKNOWN_TOPIC_OR_PARTITION"}
    assert isinstance(results.errors[f"{name}-missing"], TopicError)
    assert paged[name].partitions == description.partitions
    assert by_id[listing.topic_id].name == name
    assert by_id[listing.topic_id].authorized_operations is None
    assert codes(by_id) == {bytes(15) + b"x": "UNKNOWN_TOPIC_ID"}
    assert not any(row.is_internal for row in (yield from list_topics()).values())


def listed(names: set[str]) -> Plan[set[str]]:
    return names & set((yield from list_topics()))


def topics_are_deleted_by_name_and_id(name):
    yield from new_topic(name)
    yield from new_topic(f"{name}-2")
    topic_id = (yield from list_topics())[f"{name}-2"].topic_id
    results = yield from delete_topics([name, topic_id, f"{name}-missing"])

    assert results.values_by_item == {name: None, topic_id: None}
    assert codes(results) == {f"{name}-missing": "UNKNOWN_TOPIC_OR_PARTITION"}
    yield from eventually(lambda: listed({name, f"{name}-2"}), set())


def partitions_of(name: str) -> Plan[int]:
    return len((yield from describe_topics([name]))[name].partitions)


def topic_gets_more_partitions_and_never_fewer(name):
    yield from new_topic(name, 2)
    validated = yield from create_partitions({name: NewPartitions(4)}, validate_only=True)
    results = yield from create_partitions({name: NewPartitions(4, [[1], [1]])})
    fewer = yield from create_partitions({name: NewPartitions(3), f"{name}-x": NewPartitions(3)})

    assert validated.all() == results.all() == {name: None}
    yield from eventually(lambda: partitions_of(name), 4)
    assert codes(fewer) == {
        name: "INVALID_PARTITIONS",
        f"{name}-x": "UNKNOWN_TOPIC_OR_PARTITION",
    }


def offsets_are_looked_up_by_place_and_time(name):
    """Its topic has ten records in the first of two partitions, a second apart."""
    full, empty = TopicPartition(name, 0), TopicPartition(name, 1)

    def offset_of(spec):
        return (yield from list_offsets({full: spec, empty: spec})).all()

    earliest = yield from offset_of(EARLIEST)
    latest = yield from offset_of(LATEST)
    by_time = yield from offset_of(for_timestamp(TIME_MS + 3500))
    newest = yield from offset_of(MAX_TIMESTAMP)
    missing = yield from list_offsets({TopicPartition(name, 9): LATEST, full: LATEST})

    assert [(info.offset, info.timestamp) for info in earliest.values()] == [(0, -1), (0, -1)]
    assert [info.offset for info in latest.values()] == [10, 0]
    assert [(info.offset, info.timestamp) for info in by_time.values()] == [
        (4, TIME_MS + 4000),
        (-1, -1),
    ]
    assert newest[full].offset == 9
    assert codes(missing) == {TopicPartition(name, 9): "UNKNOWN_TOPIC_OR_PARTITION"}
    assert missing[full].leader_epoch == 0


def records_are_deleted_before_an_offset_and_up_to_the_end(name):
    """Its topic has ten records in the first of two partitions."""
    at, other = TopicPartition(name, 0), TopicPartition(name, 1)
    results = yield from delete_records({at: 4, other: 99, TopicPartition(name, 9): 1})
    start = (yield from list_offsets({at: EARLIEST}))[at].offset
    to_the_end = yield from delete_records({at: HIGH_WATERMARK})

    assert (results[at], start, to_the_end[at]) == (4, 4, 10)
    assert codes(results) == {
        other: "OFFSET_OUT_OF_RANGE",
        TopicPartition(name, 9): "UNKNOWN_TOPIC_OR_PARTITION",
    }
    assert results.errors[other].partition == 1


def cluster_is_described_with_its_brokers(name):
    del name
    description = yield from describe_cluster(include_authorized_operations=True)
    plain = yield from describe_cluster(include_fenced_brokers=True)

    assert [node.node_id for node in description.nodes] == [1]
    assert description.controller_id == 1
    assert len(description.cluster_id) == 22
    assert "ALTER_CONFIGS" in description.authorized_operations
    assert plain.authorized_operations is None
    assert plain.nodes == description.nodes


def settings_of_topics_are_set_deleted_appended_and_subtracted(name):
    yield from new_topic(name)
    topic = ConfigResource(ConfigResourceType.TOPIC, name)

    def alter(*ops, **options):
        return (yield from incremental_alter_configs({topic: ops}, **options))

    def entry(setting):
        return (yield from describe_configs([topic], names=[setting]))[topic][setting]

    def becomes(setting, value, source=ConfigSource.DYNAMIC_TOPIC_CONFIG):
        def ask():
            current = yield from entry(setting)
            return current.value, current.source

        return eventually(ask, (value, source))

    (yield from alter(AlterConfigOp("retention.ms", "999"))).all()
    yield from becomes("retention.ms", "999")
    assert not (yield from entry("retention.ms")).is_default
    (yield from alter(AlterConfigOp("retention.ms", "1"), validate_only=True)).all()
    assert (yield from entry("retention.ms")).value == "999"
    (yield from alter(AlterConfigOp("retention.ms", op_type=OpType.DELETE))).all()
    yield from becomes("retention.ms", "604800000", ConfigSource.DEFAULT_CONFIG)
    (yield from alter(AlterConfigOp("cleanup.policy", "compact", OpType.APPEND))).all()
    yield from becomes("cleanup.policy", "delete,compact")
    (yield from alter(AlterConfigOp("cleanup.policy", "delete", OpType.SUBTRACT))).all()
    yield from becomes("cleanup.policy", "compact")
    wrong = yield from alter(AlterConfigOp("retention.ms", "soon"))
    assert codes(wrong) == {topic: "INVALID_CONFIG"}
    assert wrong.errors[topic].topic == name


def settings_are_described_with_synonyms_and_documentation(name):
    yield from new_topic(name, **{"retention.ms": "999"})
    topic = ConfigResource(ConfigResourceType.TOPIC, name)
    missing = ConfigResource(ConfigResourceType.TOPIC, f"{name}-missing")
    results = yield from describe_configs(
        [topic, missing], include_synonyms=True, include_documentation=True
    )
    plain = (yield from describe_configs([topic]))[topic]

    entry = results[topic]["retention.ms"]
    assert (entry.type, entry.is_sensitive, entry.is_read_only) == (ConfigType.LONG, False, False)
    assert (entry.synonyms[0].name, entry.synonyms[0].source) == (
        "retention.ms",
        ConfigSource.DYNAMIC_TOPIC_CONFIG,
    )
    assert entry.documentation
    assert codes(results) == {missing: "UNKNOWN_TOPIC_OR_PARTITION"}
    assert (plain["retention.ms"].synonyms, plain["retention.ms"].documentation) == ((), None)
    assert "segment.bytes" in plain


def settings_of_brokers_loggers_and_groups_are_changed(name):
    broker = ConfigResource(ConfigResourceType.BROKER, "1")
    group = ConfigResource(ConfigResourceType.GROUP, name)
    missing = ConfigResource(ConfigResourceType.BROKER, "77")
    changes = {
        broker: [AlterConfigOp("log.cleaner.backoff.ms", "14999")],
        group: [AlterConfigOp("consumer.session.timeout.ms", "46000")],
    }
    (yield from incremental_alter_configs(changes)).all()

    def ask():
        entries = (yield from describe_configs(list(changes))).all()
        return {
            resource: entries[resource][op.name].value
            for resource, ops in changes.items()
            for op in ops
        }

    yield from eventually(ask, {broker: "14999", group: "46000"})
    results = yield from describe_configs([broker, missing])
    resources = yield from list_config_resources([ConfigResourceType.GROUP])

    assert "log.cleaner.backoff.ms" in results[broker]
    assert codes(results) == {missing: "BROKER_NOT_AVAILABLE"}
    assert group in resources
    deletes = {
        resource: [AlterConfigOp(op.name, op_type=OpType.DELETE) for op in ops]
        for resource, ops in changes.items()
    }
    (yield from incremental_alter_configs(deletes)).all()
    loggers = yield from describe_configs([ConfigResource(ConfigResourceType.BROKER_LOGGER, "1")])
    assert all(entries for entries in loggers.all().values())


def settings_of_client_metrics_are_changed_if_the_broker_serves_them(name):
    metrics = ConfigResource(ConfigResourceType.CLIENT_METRICS, name)
    change = AlterConfigOp("interval.ms", "60000")
    altered = yield from incremental_alter_configs({metrics: [change]})
    if altered.errors:
        assert "not served yet" in str(altered.errors[metrics])
        return

    def ask():
        entries = (yield from describe_configs([metrics]))[metrics]
        return entries["interval.ms"].value, entries["interval.ms"].source

    yield from eventually(ask, ("60000", ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG))
    assert metrics in (yield from list_config_resources([ConfigResourceType.CLIENT_METRICS]))


def offsets_of_a_group_are_committed_listed_and_deleted(name):
    first, second = yield from new_topic(name, 2)
    offsets = {first: OffsetAndMetadata(3, 0, "note"), second: OffsetAndMetadata(5)}
    altered = yield from alter_consumer_group_offsets(
        name, {**offsets, TopicPartition(f"{name}-missing", 0): OffsetAndMetadata(1)}
    )
    listed = yield from list_consumer_group_offsets(
        {name: None, f"{name}-missing": [first]}, require_stable=True
    )
    chosen = (yield from list_consumer_group_offsets({name: [second]}))[name]
    deleted = yield from delete_consumer_group_offsets(name, [first])
    rest = (yield from list_consumer_group_offsets({name: [first, second]}))[name]

    assert altered.values_by_item == {first: None, second: None}
    assert codes(altered) == {TopicPartition(f"{name}-missing", 0): "UNKNOWN_TOPIC_OR_PARTITION"}
    assert listed[name].all() == offsets
    assert listed[f"{name}-missing"].all() == {first: None}
    assert chosen.all() == {second: OffsetAndMetadata(5)}
    assert deleted.all() == {first: None}
    assert rest.all() == {first: None, second: OffsetAndMetadata(5)}


def groups_are_listed_described_and_deleted(name):
    (at,) = yield from new_topic(name)
    (yield from alter_consumer_group_offsets(name, {at: OffsetAndMetadata(1)})).all()
    listing = (yield from list_groups(states=["Empty"], types=["Classic"]))[name]
    stable = yield from list_groups(states=["Stable"])
    consumer = yield from describe_consumer_groups([name, f"{name}-missing"])
    classic = yield from describe_classic_groups([name], include_authorized_operations=True)
    nobody = yield from remove_members(name, [MemberToRemove(member_id="m")])
    everybody = yield from remove_members(name)
    deleted = yield from delete_groups([name, f"{name}-missing"])

    assert (listing.state, listing.type.lower()) == ("Empty", "classic")
    assert name not in stable.all()
    assert (consumer[name].state, consumer[name].type, consumer[name].members) == (
        "Empty",
        "Classic",
        (),
    )
    assert codes(consumer) == {f"{name}-missing": "GROUP_ID_NOT_FOUND"}
    assert consumer.errors[f"{name}-missing"].group == f"{name}-missing"
    assert classic[name].is_simple_consumer_group
    assert "READ" in classic[name].authorized_operations
    assert codes(nobody) == {MemberToRemove(member_id="m"): "UNKNOWN_MEMBER_ID"}
    assert everybody.all() == {}
    assert deleted.values_by_item == {name: None}
    assert codes(deleted) == {f"{name}-missing": "GROUP_ID_NOT_FOUND"}
    assert name not in (yield from list_groups())


def log_directories_are_described_and_a_move_to_an_unknown_one_is_an_error(name):
    (at,) = yield from new_topic(name)
    results = yield from describe_log_dirs([1, 77])
    one_partition = yield from describe_log_dirs([1], partitions=[at])
    replica = TopicPartitionReplica(name, 0, 1)
    moved = yield from alter_replica_log_dirs({replica: "/no/such/directory"})

    ((path, directory),) = results[1].items()
    assert path.startswith("/")
    assert directory.error is None
    assert directory.total_bytes > directory.usable_bytes > 0
    assert (directory.replica_infos[at].size, directory.replica_infos[at].is_future) == (0, False)
    assert set(one_partition[1][path].replica_infos) == {at}
    assert codes(results) == {77: "BROKER_NOT_AVAILABLE"}
    assert codes(moved) == {replica: "LOG_DIR_NOT_FOUND"}


def features_are_described_and_wrong_levels_are_errors(name):
    del name
    features = yield from describe_features()
    results = yield from update_features({"transaction.version": FeatureUpdate(99)})
    same = yield from update_features({"transaction.version": FeatureUpdate(2)}, validate_only=True)

    assert features.finalized["transaction.version"][1] == 2
    assert features.supported["transaction.version"] == (0, 2)
    assert features.finalized_epoch >= 0
    assert codes(results) == {"transaction.version": "INVALID_UPDATE_VERSION"}
    assert not same.errors


def quorum_is_described_and_elections_and_registrations_answer_if_the_broker_serves_them(name):
    (at,) = yield from new_topic(name)
    try:
        quorum = yield from describe_metadata_quorum()
    except UnsupportedError:
        return
    elected = yield from elect_leaders(ElectionType.PREFERRED, [at])
    try:
        yield from unregister_broker(77)
        message = ""
    except ClientError as error:
        message = str(error)

    assert quorum.leader_id == 1
    assert [voter.replica_id for voter in quorum.voters] == [1]
    assert 0 < quorum.high_watermark <= quorum.voters[0].log_end_offset
    assert codes(elected) == {at: "ELECTION_NOT_NEEDED"}
    assert "BROKER_ID_NOT_REGISTERED" in message


def quotas_are_set_described_by_filter_and_removed(name):
    user = quota_entity({"user": name})
    default = quota_entity({"client-id": None, "user": name})
    rates = {"producer_byte_rate": 1000.0, "consumer_byte_rate": 20.0}
    changes = {user: rates, default: {"request_percentage": 50.0}}
    (yield from alter_client_quotas(changes, validate_only=True)).all()
    of_user = [ClientQuotaFilterComponent(entity_type="user", name=name)]
    assert (yield from describe_client_quotas(of_user)) == {}
    (yield from alter_client_quotas(changes)).all()
    wrong = yield from alter_client_quotas({user: {"no_such_rate": 1.0}})

    yield from eventually(lambda: describe_client_quotas(of_user), changes)
    assert (yield from describe_client_quotas(of_user, strict=True)) == {user: rates}
    by_default = [*of_user, ClientQuotaFilterComponent(entity_type="client-id", is_default=True)]
    assert (yield from describe_client_quotas(by_default)) == {
        default: {"request_percentage": 50.0}
    }
    any_user = yield from describe_client_quotas([ClientQuotaFilterComponent(entity_type="user")])
    assert any_user[user] == rates
    assert codes(wrong) == {user: "INVALID_REQUEST"}
    (yield from alter_client_quotas({user: dict.fromkeys(rates)})).all()
    (yield from alter_client_quotas({default: {"request_percentage": None}})).all()
    yield from eventually(lambda: describe_client_quotas(of_user), {})


def reassignments_to_the_same_brokers_end_at_once(name):
    (at,) = yield from new_topic(name)
    missing = TopicPartition(f"{name}-missing", 0)
    results = yield from alter_partition_reassignments({at: [1], missing: [1]})
    cancelled = yield from alter_partition_reassignments({at: None})

    assert results.values_by_item == {at: None}
    assert codes(results) == {missing: "UNKNOWN_TOPIC_OR_PARTITION"}
    assert codes(cancelled) == {at: "NO_REASSIGNMENT_IN_PROGRESS"}
    assert (yield from list_partition_reassignments()) == {}
    assert (yield from list_partition_reassignments([at])) == {}


def transactional_producer_is_fenced_and_described(name):
    fenced = yield from fence_producers([name])
    again = yield from fence_producers([name])
    listed = yield from list_transactions(producer_ids=[fenced[name].producer_id])
    described = yield from describe_transactions([name, f"{name}-missing"])
    try:
        (yield from list_transactions(states=["NoSuch"])).all()
        message = ""
    except ClientError as error:
        message = str(error)

    assert again[name].producer_epoch == fenced[name].producer_epoch + 1
    assert listed[name].state == described[name].state == "Empty"
    assert described[name].transaction_start_time_ms is None
    assert described[name].partitions == frozenset()
    assert codes(described) == {f"{name}-missing": "TRANSACTIONAL_ID_NOT_FOUND"}
    assert "NoSuch" in message


def open_transaction_is_seen_in_its_partition_and_ended_by_a_marker(name):
    """Its topic has one record of an open transaction of the transactional id `name`."""
    at = TopicPartition(name, 0)
    described = (yield from describe_transactions([name]))[name]
    results = yield from describe_producers([at, TopicPartition(name, 9)])
    (producer,) = results[at]
    spec = AbortTransactionSpec(
        partition=at,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        coordinator_epoch=producer.coordinator_epoch,
    )
    before = (yield from list_offsets({at: LATEST}, read_committed=True))[at].offset
    yield from abort_transaction(spec)
    (after,) = (yield from describe_producers([at], broker_id=1))[at]
    end = (yield from list_offsets({at: LATEST}, read_committed=True))[at].offset

    assert (described.state, described.partitions) == ("Ongoing", frozenset([at]))
    assert described.transaction_start_time_ms is not None
    assert producer.current_transaction_start_offset == 0
    assert producer.producer_id == described.producer_id
    assert after.current_transaction_start_offset is None
    assert (before, end) == (0, 2)
    assert codes(results) == {TopicPartition(name, 9): "UNKNOWN_TOPIC_OR_PARTITION"}
    assert ErrorCode.NONE == 0


def access_control_lists_need_an_authorizer(name):
    entry = Acl(ResourceType.TOPIC, name, PatternType.LITERAL, "User:a", "*", Operation.READ, 3)
    created = yield from create_acls([entry])
    deleted = yield from delete_acls([AclFilter(name=name)])
    try:
        yield from describe_acls()
        code = ErrorCode.NONE
    except ClientError as error:
        code = error.code

    assert code is ErrorCode.SECURITY_DISABLED
    assert codes(created) == {entry: "SECURITY_DISABLED"}
    assert codes(deleted) == {AclFilter(name=name): "SECURITY_DISABLED"}


WITH_RECORDS: list[Scenario] = [
    offsets_are_looked_up_by_place_and_time,
    records_are_deleted_before_an_offset_and_up_to_the_end,
]
PLAIN: list[Scenario] = [
    topics_are_created_with_numbers_and_settings_and_each_failure_is_one_of_its_topic,
    topic_that_is_only_validated_is_not_created,
    topics_are_listed_and_described_by_name_and_id,
    topics_are_deleted_by_name_and_id,
    topic_gets_more_partitions_and_never_fewer,
    cluster_is_described_with_its_brokers,
    settings_of_topics_are_set_deleted_appended_and_subtracted,
    settings_are_described_with_synonyms_and_documentation,
    settings_of_brokers_loggers_and_groups_are_changed,
    settings_of_client_metrics_are_changed_if_the_broker_serves_them,
    offsets_of_a_group_are_committed_listed_and_deleted,
    groups_are_listed_described_and_deleted,
    log_directories_are_described_and_a_move_to_an_unknown_one_is_an_error,
    features_are_described_and_wrong_levels_are_errors,
    quorum_is_described_and_elections_and_registrations_answer_if_the_broker_serves_them,
    quotas_are_set_described_by_filter_and_removed,
    access_control_lists_need_an_authorizer,
    reassignments_to_the_same_brokers_end_at_once,
    transactional_producer_is_fenced_and_described,
]
