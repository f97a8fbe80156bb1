"""The driver of machines: effects in virtual time, commits that are held back, crashes."""

import pytest

from trio_kafka.coordinators.shards.effects import CoordinatorRecord, Effects, Ticket, TimerKey
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.stored.groups.classic import GroupMetadataKey
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.testing.machines import MachineDriver


class Words:
    """A machine that keeps words, and when its timers were due."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.due: list[tuple[TimerKey, int]] = []

    def replay(self, record: CoordinatorRecord) -> None:
        self.words.append(record.key.group)

    def loaded(self, now_ms: int) -> Steps[Effects]:
        yield
        return Effects().set_timer(("first",), 10)

    def timer(self, key: TimerKey, now_ms: int) -> Effects:
        self.due.append((key, now_ms))
        return Effects().set_timer(("next",), 10) if key == ("first",) else Effects()


def write(word: str):
    def event(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        records = [CoordinatorRecord(GroupMetadataKey(word))]
        return Effects(records=records).answer(ticket, word)

    return event


def driver() -> MachineDriver[Words]:
    return MachineDriver(Words, now_ms=100)


def test_written_record_is_replayed_and_answered() -> None:
    words = driver()

    assert words.ask(write("a")) == "a"
    assert words.machine.words == ["a"]
    assert words.records == [CoordinatorRecord(GroupMetadataKey("a"))]


def test_held_record_is_answered_when_committed_and_lost_in_a_crash() -> None:
    words = driver()
    words.ask(write("a"))
    words.hold = True
    ticket = words.submit(write("b"))
    assert (words.machine.words, ticket in words.answers) == (["a", "b"], False)

    assert words.reload().machine.words == ["a"]
    words.commit()

    assert words.answers[ticket] == "b"
    assert words.reload().machine.words == ["a", "b"]


def test_refused_write_is_answered_with_the_error() -> None:
    words = driver()
    words.refuse = KafkaError(ErrorCode.NOT_COORDINATOR)

    with pytest.raises(KafkaError, match="NOT_COORDINATOR"):
        words.ask(write("a"))
    assert words.machine.words == []


def test_timers_run_in_order_even_if_set_by_other_timers() -> None:
    words = driver()
    words.apply(lambda _machine, _now_ms: Effects().set_timer(("other",), 15))
    assert words.timers == {("first",): 10, ("other",): 15}

    words.advance(30)

    assert words.machine.due == [(("first",), 110), (("other",), 115), (("next",), 120)]
    assert words.now_ms == 130


def test_steps_of_an_event_run_at_once() -> None:
    def event(_machine: Words, ticket: Ticket, _now_ms: int) -> Steps[Effects]:
        yield
        return Effects().answer(ticket, "done")

    assert driver().ask(event) == "done"


def test_second_answer_to_a_ticket_is_an_error() -> None:
    def event(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        return Effects().answer(ticket, 1).answer(ticket, 2)

    with pytest.raises(AssertionError, match="answered twice"):
        driver().submit(event)
