"""Metadata records of feature levels."""

from trio_kafka.protocol.schema import int8, int16, record, string


@record(key=12, versions="0", flexible="0+")
class FeatureLevelRecord:
    """A feature is at a level; 0 takes it away."""

    name: str = string()
    feature_level: int = int16()


@record(key=21, versions="0", flexible="0+")
class ZkMigrationStateRecord:
    """How far a migration from ZooKeeper has come; 0 where there was none."""

    zk_migration_state: int = int8()
