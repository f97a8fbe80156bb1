"""Assignments when they are made or cleared."""

from tests.coordinators.groups.classic.kit import ClassicKit
from trio_kafka.coordinators.groups.classic.transition import Transition
from trio_kafka.coordinators.groups.settings import DEFAULT_GROUP_SETTINGS
from trio_kafka.errors import ErrorCode


def test_members_missing_from_the_assignment_get_an_empty_assignment() -> None:
    kit = ClassicKit()
    leader, follower = kit.stable()
    transition = Transition(kit.group, DEFAULT_GROUP_SETTINGS, 1)

    transition.assign_all({leader: b"all"})

    assert (kit.group.membership[leader].assignment, kit.group.membership[follower].assignment) == (
        b"all",
        b"",
    )
    assert not transition.effects.answers  # nobody waits
    assert not transition.effects.timers


def test_clearing_assignments_empties_them_and_answers_waiting_syncs_with_the_error() -> None:
    kit = ClassicKit()
    leader, follower = kit.completing()
    waiting = kit.sync(follower)
    kit.group.membership[leader].assignment = b"all"
    transition = Transition(kit.group, DEFAULT_GROUP_SETTINGS, 1)

    transition.clear_assignments(ErrorCode.REBALANCE_IN_PROGRESS)

    assert kit.group.membership[leader].assignment == b""
    [(ticket, error)] = transition.effects.answers
    assert (ticket, error.code) == (waiting.ticket, ErrorCode.REBALANCE_IN_PROGRESS)
    assert len(transition.effects.timers) == 1
