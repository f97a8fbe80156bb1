"""List of handlers: key, name, first and last version, module, unstable version.

Written by `python -m tests.apis.listing`; a test compares it with the handlers. With this list a
broker starts without importing them. A handler that is not listed is served too, but imported at
the start.
"""

from typing import Final

LISTED: Final = (
    (0, "Produce", 3, 13, "k00_produce"),
    (1, "Fetch", 4, 18, "k01_fetch"),
    (2, "ListOffsets", 1, 11, "k02_list_offsets"),
    (3, "Metadata", 0, 13, "k03_metadata"),
    (8, "OffsetCommit", 2, 10, "k08_offset_commit"),
    (9, "OffsetFetch", 1, 10, "k09_offset_fetch"),
    (10, "FindCoordinator", 0, 6, "k10_find_coordinator"),
    (11, "JoinGroup", 0, 9, "k11_join_group"),
    (12, "Heartbeat", 0, 4, "k12_heartbeat"),
    (13, "LeaveGroup", 0, 5, "k13_leave_group"),
    (14, "SyncGroup", 0, 5, "k14_sync_group"),
    (15, "DescribeGroups", 0, 6, "k15_describe_groups"),
    (16, "ListGroups", 0, 5, "k16_list_groups"),
    (18, "ApiVersions", 0, 5, "k18_api_versions"),
    (19, "CreateTopics", 2, 7, "k19_create_topics"),
    (20, "DeleteTopics", 1, 6, "k20_delete_topics"),
    (21, "DeleteRecords", 0, 2, "k21_delete_records"),
    (22, "InitProducerId", 0, 5, "k22_init_producer_id", 6),
    (23, "OffsetForLeaderEpoch", 2, 4, "k23_offset_for_leader_epoch"),
    (27, "WriteTxnMarkers", 1, 2, "k27_write_txn_markers"),
    (28, "TxnOffsetCommit", 0, 6, "k28_txn_offset_commit"),
    (32, "DescribeConfigs", 1, 4, "k32_describe_configs"),
    (33, "AlterConfigs", 0, 2, "k33_alter_configs"),
    (34, "AlterReplicaLogDirs", 1, 2, "k34_alter_replica_log_dirs"),
    (35, "DescribeLogDirs", 1, 5, "k35_describe_log_dirs"),
    (37, "CreatePartitions", 0, 3, "k37_create_partitions"),
    (42, "DeleteGroups", 0, 3, "k42_delete_groups"),
    (44, "IncrementalAlterConfigs", 0, 1, "k44_incremental_alter_configs"),
    (45, "AlterPartitionReassignments", 0, 1, "k45_alter_partition_reassignments"),
    (46, "ListPartitionReassignments", 0, 0, "k46_list_partition_reassignments"),
    (47, "OffsetDelete", 0, 0, "k47_offset_delete"),
    (48, "DescribeClientQuotas", 0, 1, "k48_describe_client_quotas"),
    (49, "AlterClientQuotas", 0, 1, "k49_alter_client_quotas"),
    (57, "UpdateFeatures", 0, 2, "k57_update_features"),
    (60, "DescribeCluster", 0, 2, "k60_describe_cluster"),
    (61, "DescribeProducers", 0, 0, "k61_describe_producers"),
    (68, "ConsumerGroupHeartbeat", 0, 1, "k68_consumer_group_heartbeat"),
    (69, "ConsumerGroupDescribe", 0, 1, "k69_consumer_group_describe"),
    (74, "ListConfigResources", 0, 1, "k74_list_config_resources"),
    (75, "DescribeTopicPartitions", 0, 0, "k75_describe_topic_partitions"),
    (10001, "DescribeTree", 0, 1, "k10001_describe_tree"),
    (10002, "ListPlugins", 0, 0, "k10002_list_plugins"),
    (10003, "ReloadPlugin", 0, 0, "k10003_reload_plugin"),
    (10004, "RunJob", 0, 0, "k10004_run_job"),
    (10010, "DescribeRequests", 0, 1, "k10010_describe_requests"),
)
