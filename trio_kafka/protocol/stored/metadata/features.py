"""Metadata records of feature levels."""

from trio_kafka.protocol.schema import int8, int16, record, string


@record(key=12, versions="0", flexible="0+")
class FeatureLevelRecord:
    """Level of a feature; 0 removes it."""

    name: str = string()
    feature_level: int = int16()


@record(key=21, versions="0", flexible="0+")
class ZkMigrationStateRecord:
    """State of a migration from ZooKeeper; 0 without one."""

    zk_migration_state: int = int8()
