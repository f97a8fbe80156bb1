"""Who is alive."""

from math import inf

from trio_kafka.controller.sessions import Sessions
from trio_kafka.model import NodeId

ONE, TWO = NodeId(1), NodeId(2)


def test_the_longest_silent_one_sets_the_deadline() -> None:
    sessions = Sessions(9.0)
    assert sessions.deadline == inf

    sessions.touch(ONE, 1.0)
    sessions.touch(TWO, 2.0)
    sessions.touch(ONE, 3.0)

    assert sessions.deadline == 11.0
    assert list(sessions.silent(11.0)) == [TWO]
    assert list(sessions.silent(12.0)) == [TWO, ONE]
    assert sessions.alive(TWO, 10.9)
    assert not sessions.alive(TWO, 11.0)


def test_nothing_is_expected_of_one_that_is_forgotten() -> None:
    sessions = Sessions(9.0)
    sessions.touch(ONE, 1.0)

    sessions.forget(ONE)

    assert sessions.deadline == inf
    assert not sessions.alive(ONE, 1.0)
