"""docs/reference/test-controls.md: controls of two other test brokers, each with a test."""

import re
from functools import cache
from typing import Final

import pytest

from tests.lanes import together
from tests.project.tree import ROOT

PAGE: Final = (ROOT / "docs" / "reference" / "test-controls.md").read_text()
MISSING: Final = {"transactions", "security", "cluster", "share groups", "telemetry"}
# Sources: kfake of franz-go and kcl (September 2026), rdkafka_mock.h of librdkafka (July 2026).
KFAKE: Final = [
    "Control",
    "ControlKey",
    "KeepControl",
    "DropControl",
    "SleepControl",
    "SleepOutOfOrder",
    "CurrentNode",
    "MoveTopicPartition",
    "ShufflePartitionLeaders",
    "RehashCoordinators",
    "SetFollowers",
    "AddNode",
    "RemoveNode",
    "LeaderFor",
    "CoordinatorFor",
    "ListenAddrs",
    "Close",
    "Compact",
    "ApplyRetention",
    "NumBrokers",
    "Ports",
    "ListenFn",
    "TLS",
    "ClusterID",
    "SeedTopics",
    "DefaultNumPartitions",
    "AllowAutoTopicCreation",
    "GroupMinSessionTimeout",
    "GroupMaxSessionTimeout",
    "EnableSASL",
    "Superuser",
    "User",
    "EnableACLs",
    "MaxVersions",
    "BrokerConfigs",
    "DataDir",
    "SyncWrites",
    "WithLogger",
    "Fault.Keys",
    "Fault.Nodes",
    "Fault.Topic",
    "Fault.TopicID",
    "Fault.Partitions",
    "Fault.Group",
    "Fault.TxnID",
    "Fault.Resource",
    "Fault.TopLevel",
    "Fault.When",
    "Fault.Count",
    "Fault.Observe",
    "Fault.Hits",
    "Fault.Wait",
    "Fault.Remove",
    "WaitGroupInfo",
]
LIBRDKAFKA: Final = [
    "cluster_new",
    "cluster_destroy",
    "cluster_bootstraps",
    "test.mock.num.brokers",
    "push_request_errors",
    "push_request_errors_array",
    "clear_request_errors",
    "broker_push_request_error_rtts",
    "broker_error_stack_cnt",
    "partition_push_request_errors",
    "topic_set_error",
    "partition_push_leader_response",
    "topic_create",
    "topic_delete",
    "partition_set_leader",
    "partition_set_follower",
    "partition_set_follower_wmarks",
    "partition_delete_records",
    "broker_set_down",
    "broker_set_up",
    "broker_set_rtt",
    "broker_set_rack",
    "broker_set_host_port",
    "broker_add",
    "broker_decommission",
    "broker_remove_from_metadata",
    "coordinator_set",
    "set_apiversion",
    "start_request_tracking",
    "stop_request_tracking",
    "get_requests",
    "clear_requests",
    "request_id",
    "request_api_key",
    "request_timestamp",
    "group_initial_rebalance_delay_ms",
    "cgrp_consumer_target_assignment",
    "set_group_consumer_session_timeout_ms",
    "set_group_consumer_heartbeat_interval_ms",
    "telemetry_set_requested_metrics",
    "telemetry_set_push_interval",
]


def rows(section: str) -> list[list[str]]:
    """The cells of a section's table."""
    text = PAGE.split(f"## {section}")[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")][2:]
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]


@cache
def defined_tests() -> set[str]:
    """The names of all tests."""
    files = (ROOT / "tests").rglob("test_*.py")
    return {name for file in files for name in re.findall(r"def (test_\w+)\(", file.read_text())}


SECTIONS: Final = {"kfake": KFAKE, "librdkafka": LIBRDKAFKA}
ROWS: Final = [(name, row) for name in SECTIONS for row in rows(name)]


@pytest.mark.parametrize("section", SECTIONS)
def test_page_has_a_row_for_every_test_control_of_kfake_and_librdkafka(section: str) -> None:
    first = " ".join(row[0] for row in rows(section))
    named = set(re.findall(r"`([^`]+)`", first))

    assert [name for name in SECTIONS[section] if name not in named] == []


@together(ROWS)
def test_every_row_names_an_existing_test_or_says_that_the_control_is_missing(
    section_and_row: tuple[str, list[str]],
) -> None:
    control, here, test = section_and_row[1]
    if not here:
        assert test in MISSING
        return
    assert test.strip("`") in defined_tests(), control
