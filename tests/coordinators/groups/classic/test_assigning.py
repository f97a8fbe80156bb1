"""What becomes of assignments."""

from tests.coordinators.groups.classic.kit import ClassicKit
from trio_kafka.coordinators.groups.classic.act import Act
from trio_kafka.coordinators.groups.classic.assigning import give_out, take_back
from trio_kafka.coordinators.groups.settings import DEFAULT_GROUP_SETTINGS
from trio_kafka.errors import ErrorCode


def test_those_who_are_not_named_get_nothing() -> None:
    kit = ClassicKit()
    leader, follower = kit.stable()
    act = Act(kit.group, DEFAULT_GROUP_SETTINGS, 1)

    give_out(act, {leader: b"all"})

    assert (kit.group.roster[leader].assignment, kit.group.roster[follower].assignment) == (
        b"all",
        b"",
    )
    assert not act.effects.answers  # nobody waits
    assert not act.effects.timers


def test_what_is_taken_back_is_nobodys() -> None:
    kit = ClassicKit()
    leader, follower = kit.completing()
    waiting = kit.sync(follower)
    kit.group.roster[leader].assignment = b"all"
    act = Act(kit.group, DEFAULT_GROUP_SETTINGS, 1)

    take_back(act, ErrorCode.REBALANCE_IN_PROGRESS)

    assert kit.group.roster[leader].assignment == b""
    [(ticket, error)] = act.effects.answers
    assert (ticket, error.code) == (waiting.ticket, ErrorCode.REBALANCE_IN_PROGRESS)
    assert len(act.effects.timers) == 1
