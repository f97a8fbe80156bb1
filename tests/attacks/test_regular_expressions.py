"""A regular expression that takes long costs its own group, and no other client."""

import random
import time
from pathlib import Path
from typing import Final

import pytest

from tests.attacks.harness import attacked_broker
from tests.benchmarks.connection import Connection, connect
from tests.benchmarks.quotas import ask
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SLOW: Final = "((a?){1000}|(b?a?){1000})x"  # 0.1 s for a name of 240 characters
COORDINATOR: Final = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


def join(client: Connection, group: str, regex: str) -> ConsumerGroupHeartbeatResponse:
    """Join a group; wait for its coordinator."""
    request = ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=[],
        subscribed_topic_regex=regex,
        topic_partitions=[],
    )
    ends = time.monotonic() + 30
    while True:
        answer: ConsumerGroupHeartbeatResponse = ask(client, request, 1)
        if answer.error_code not in COORDINATOR or time.monotonic() > ends:
            return answer
        time.sleep(0.05)


def test_a_regex_that_is_slow_to_match_does_not_delay_other_clients(tmp_path: Path) -> None:
    chance = random.Random(1)
    topics = [
        CreatableTopic("".join(chance.choice("ab") for _ in range(240)), 1, 1) for _ in range(200)
    ]
    with (
        attacked_broker(tmp_path, longest_stall_s=0.1) as attacked,
        connect(attacked.broker.address) as client,
    ):
        ask(client, CreateTopicsRequest([*topics, CreatableTopic("ok", 1, 1)]), 7)
        assert not join(client, "honest", "ok").error_code

        for number in range(3):
            assert not join(client, f"slow-{number}", f"{SLOW}|{number}").error_code
        ends = time.monotonic() + 120
        while attacked.log.count("regular expressions resolved") < 3:
            assert time.monotonic() < ends
            time.sleep(0.1)


@pytest.mark.parametrize("regex", [r"\pL" * 10_900, r"(?i)\PL" * 4_000, "a{1000}" * 4_000])
def test_a_regex_that_is_slow_to_compile_is_refused_at_once(tmp_path: Path, regex: str) -> None:
    with (
        attacked_broker(tmp_path, longest_stall_s=0.1) as attacked,
        connect(attacked.broker.address) as client,
    ):
        assert not join(client, "honest", "ok").error_code
        for _ in range(20):
            answer = join(client, "slow", regex)
            assert answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
            assert "expected at most" in (answer.error_message or "")
