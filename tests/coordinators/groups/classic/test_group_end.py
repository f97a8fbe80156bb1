"""A group ends while members wait."""

from tests.coordinators.groups.classic.kit import GROUP, ClassicKit
from trio_kafka.coordinators.groups.classic.transition import end_group
from trio_kafka.coordinators.groups.classic.values import JoinAnswer
from trio_kafka.errors import ErrorCode


def end(kit: ClassicKit) -> None:
    kit.driver.apply(
        lambda _, now_ms: end_group(kit.group, ErrorCode.REBALANCE_IN_PROGRESS, now_ms)
    )


def test_waiting_joins_are_answered_with_the_error_when_the_group_ends() -> None:
    kit = ClassicKit()
    leader, _ = kit.stable()
    kit.new_id()
    request = kit.join(leader)

    end(kit)

    assert request.answer == JoinAnswer(member_id=leader, error=ErrorCode.REBALANCE_IN_PROGRESS)
    assert kit.state == "Dead"
    assert not [key for key in kit.driver.timers if GROUP in key]


def test_waiting_syncs_are_answered_with_the_error_when_the_group_ends() -> None:
    kit = ClassicKit()
    _, follower = kit.completing()
    request = kit.sync(follower)

    end(kit)

    assert request.code is ErrorCode.REBALANCE_IN_PROGRESS
