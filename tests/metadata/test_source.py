"""The interface of metadata sources."""

from typing import get_args

from trio_kafka.metadata.source import MetadataRecord, MetadataSource
from trio_kafka.protocol.stored.metadata.frame import RECORDS
from trio_kafka.raft.driver import RaftDriver


def test_metadata_records_are_all_that_the_log_can_hold() -> None:
    assert set(get_args(MetadataRecord)) == set(RECORDS.values())


def test_the_raft_log_is_a_source() -> None:
    def source(driver: RaftDriver) -> MetadataSource:
        return driver

    names = {name for name in vars(MetadataSource) if not name.startswith("_")}
    assert names <= set(dir(RaftDriver))
    assert source.__annotations__["return"] is MetadataSource
