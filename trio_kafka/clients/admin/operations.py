"""Operations of both admin clients: each is a plan, with the plan's parameters.

await admin.list_topics()       # `open_admin` of trio_kafka.clients
admin.list_topics()             # `open_admin` of trio_kafka.clients.blocking
"""

from typing import TYPE_CHECKING

from trio_kafka.clients.admin.calls.operation import Operation

if TYPE_CHECKING:
    from trio_kafka.clients.admin import (
        acls,
        cluster,
        configs,
        features,
        group_descriptions,
        group_offsets,
        groups,
        log_dirs,
        producers,
        quorum,
        quotas,
        reassignments,
        records,
        tokens,
        topic_descriptions,
        topics,
        transactions,
        users,
    )
else:
    from trio_kafka.clients.admin.calls.deferred import DeferredModule

    acls = DeferredModule("trio_kafka.clients.admin.acls")
    cluster = DeferredModule("trio_kafka.clients.admin.cluster")
    configs = DeferredModule("trio_kafka.clients.admin.configs")
    features = DeferredModule("trio_kafka.clients.admin.features")
    group_descriptions = DeferredModule("trio_kafka.clients.admin.group_descriptions")
    group_offsets = DeferredModule("trio_kafka.clients.admin.group_offsets")
    groups = DeferredModule("trio_kafka.clients.admin.groups")
    log_dirs = DeferredModule("trio_kafka.clients.admin.log_dirs")
    producers = DeferredModule("trio_kafka.clients.admin.producers")
    quorum = DeferredModule("trio_kafka.clients.admin.quorum")
    quotas = DeferredModule("trio_kafka.clients.admin.quotas")
    reassignments = DeferredModule("trio_kafka.clients.admin.reassignments")
    records = DeferredModule("trio_kafka.clients.admin.records")
    tokens = DeferredModule("trio_kafka.clients.admin.tokens")
    topic_descriptions = DeferredModule("trio_kafka.clients.admin.topic_descriptions")
    topics = DeferredModule("trio_kafka.clients.admin.topics")
    transactions = DeferredModule("trio_kafka.clients.admin.transactions")
    users = DeferredModule("trio_kafka.clients.admin.users")


class AdminOperations:
    """Operations of an admin client; the client itself has `run`."""

    describe_cluster = Operation(cluster.describe_cluster)
    describe_features = Operation(features.describe_features)
    update_features = Operation(features.update_features)
    describe_metadata_quorum = Operation(quorum.describe_metadata_quorum)
    elect_leaders = Operation(quorum.elect_leaders)
    unregister_broker = Operation(quorum.unregister_broker)

    create_topics = Operation(topics.create_topics)
    delete_topics = Operation(topics.delete_topics)
    create_partitions = Operation(topics.create_partitions)
    list_topics = Operation(topic_descriptions.list_topics)
    describe_topics = Operation(topic_descriptions.describe_topics)
    delete_records = Operation(records.delete_records)
    list_offsets = Operation(records.list_offsets)
    alter_partition_reassignments = Operation(reassignments.alter_partition_reassignments)
    list_partition_reassignments = Operation(reassignments.list_partition_reassignments)

    describe_configs = Operation(configs.describe_configs)
    incremental_alter_configs = Operation(configs.incremental_alter_configs)
    list_config_resources = Operation(configs.list_config_resources)
    describe_acls = Operation(acls.describe_acls)
    create_acls = Operation(acls.create_acls)
    delete_acls = Operation(acls.delete_acls)
    describe_user_scram_credentials = Operation(users.describe_user_scram_credentials)
    alter_user_scram_credentials = Operation(users.alter_user_scram_credentials)
    create_delegation_token = Operation(tokens.create_delegation_token)
    renew_delegation_token = Operation(tokens.renew_delegation_token)
    expire_delegation_token = Operation(tokens.expire_delegation_token)
    describe_delegation_token = Operation(tokens.describe_delegation_token)
    describe_client_quotas = Operation(quotas.describe_client_quotas)
    alter_client_quotas = Operation(quotas.alter_client_quotas)

    list_groups = Operation(group_descriptions.list_groups)
    describe_classic_groups = Operation(group_descriptions.describe_classic_groups)
    describe_consumer_groups = Operation(group_descriptions.describe_consumer_groups)
    list_consumer_group_offsets = Operation(group_offsets.list_consumer_group_offsets)
    alter_consumer_group_offsets = Operation(group_offsets.alter_consumer_group_offsets)
    delete_consumer_group_offsets = Operation(group_offsets.delete_consumer_group_offsets)
    delete_groups = Operation(groups.delete_groups)
    remove_members_from_consumer_group = Operation(groups.remove_members_from_consumer_group)

    describe_log_dirs = Operation(log_dirs.describe_log_dirs)
    alter_replica_log_dirs = Operation(log_dirs.alter_replica_log_dirs)

    list_transactions = Operation(transactions.list_transactions)
    describe_transactions = Operation(transactions.describe_transactions)
    fence_producers = Operation(transactions.fence_producers)
    describe_producers = Operation(producers.describe_producers)
    abort_transaction = Operation(producers.abort_transaction)
