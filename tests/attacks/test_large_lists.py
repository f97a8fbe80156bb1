"""Lists as long as an administration request may be: a bystander is served meanwhile."""

from collections.abc import Callable
from itertools import islice, product
from pathlib import Path
from string import ascii_letters
from typing import Final

import pytest

from tests.attacks.harness import MIB, attacked_broker
from tests.benchmarks.connection import connect
from trio_kafka.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from trio_kafka.protocol.messages.k11_join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
)
from trio_kafka.protocol.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from trio_kafka.protocol.messages.k15_describe_groups import DescribeGroupsRequest
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.protocol.messages.k32_describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from trio_kafka.protocol.messages.k42_delete_groups import DeleteGroupsRequest
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from trio_kafka.protocol.messages.k69_consumer_group_describe import ConsumerGroupDescribeRequest
from trio_kafka.testing.scripted_client import newest, request_frame

pytestmark = pytest.mark.slow
_LONGEST_STALL_S: Final = 0.2
_LONGEST_SUBSCRIPTION_S: Final = 0.04  # its record is encoded at once, and so replayed
_TOPIC: Final = 2


def names(count: int) -> list[str]:
    return ["".join(letters) for letters in islice(product(ascii_letters, repeat=4), count)]


@pytest.mark.parametrize(
    "make",
    [
        DeleteGroupsRequest,
        DescribeGroupsRequest,
        lambda names: DescribeGroupsRequest(["one"] * len(names)),
        ConsumerGroupDescribeRequest,
        lambda names: FindCoordinatorRequest(coordinator_keys=names),
        lambda names: LeaveGroupRequest("g", members=[MemberIdentity(name) for name in names]),
        lambda names: JoinGroupRequest(
            "g", 10_000, 10_000, protocols=[JoinGroupRequestProtocol(name, b"") for name in names]
        ),
    ],
    ids=["DeleteGroups", "DescribeGroups", "again", "ConsumerGroups", "Find", "Leave", "Join"],
)
def test_a_long_list_of_groups_does_not_delay_other_clients(
    tmp_path: Path, size: Callable[[int, int], int], make: Callable[[list[str]], object]
) -> None:
    request = make(names(size(20_000, 110_000)))
    frame = request_frame(request, newest(type(request)))
    assert len(frame) < MIB
    with (
        attacked_broker(tmp_path, longest_stall_s=_LONGEST_STALL_S) as attacked,
        connect(attacked.broker.address, 64 * MIB) as client,
    ):
        client.socket.settimeout(120)
        client.call(frame)


def test_a_subscription_to_many_topics_does_not_delay_other_clients(
    tmp_path: Path, size: Callable[[int, int], int]
) -> None:
    topics = sorted(names(size(60_000, 100_000)), key=lambda name: name[::-1])
    joining = ConsumerGroupHeartbeatRequest(
        "g", "m", rebalance_timeout_ms=1000, subscribed_topic_names=topics, topic_partitions=[]
    )
    with (
        attacked_broker(tmp_path, longest_stall_s=_LONGEST_SUBSCRIPTION_S) as attacked,
        connect(attacked.broker.address) as client,
    ):
        client.socket.settimeout(120)
        answer = b""
        while answer[9:11] != b"\0\0":  # the error: until the coordinator serves the group
            client.call(request_frame(FindCoordinatorRequest(coordinator_keys=["g"]), 4))
            answer = client.call(request_frame(joining, 1))


def test_a_topic_named_many_times_in_describe_configs_is_described_once(
    tmp_path: Path, size: Callable[[int, int], int]
) -> None:
    creation = CreateTopicsRequest([CreatableTopic("t", 1, 1)])
    resources = [DescribeConfigsResource(_TOPIC, "t")] * size(20_000, 100_000)
    with (
        attacked_broker(tmp_path, longest_stall_s=_LONGEST_STALL_S) as attacked,
        connect(attacked.broker.address) as client,
    ):
        client.call(request_frame(creation, newest(CreateTopicsRequest)))
        answer = client.call(request_frame(DescribeConfigsRequest(resources), 4))

        assert len(answer) < 1 << 16
