"""The interface of metadata sources."""

from typing import get_args

from trio_kafka.metadata.source import MetadataRecord, MetadataSource
from trio_kafka.protocol.stored.metadata.frame import RECORDS
from trio_kafka.raft.driver import RaftDriver


def test_metadata_record_type_is_the_union_of_all_records_of_the_log() -> None:
    assert set(get_args(MetadataRecord)) == set(RECORDS.values())


def test_raft_driver_has_all_methods_of_a_metadata_source() -> None:
    def source(driver: RaftDriver) -> MetadataSource:
        return driver

    names = {name for name in vars(MetadataSource) if not name.startswith("_")}
    assert names <= set(dir(RaftDriver))
    assert source.__annotations__["return"] is MetadataSource
