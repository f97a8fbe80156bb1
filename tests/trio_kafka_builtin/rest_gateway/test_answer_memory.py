"""Which records fit into the memory of all answers."""

from trio_kafka.records.batch import Record
from trio_kafka_builtin.rest_gateway.answer_memory import AnswerMemory

RECORD = Record(0, 0, b"k", b"v" * 99)
SIZE = 1000 + 100 * 25


def test_an_answer_ends_when_all_answers_together_have_too_much() -> None:
    memory = AnswerMemory(3 * SIZE)

    with memory.share() as slow:
        assert [slow.take(RECORD, "json") for _ in range(4)] == [True, True, True, False]
        with memory.share() as other:
            # One record, so that the client goes on; no more.
            assert [other.take(RECORD, "json") for _ in range(2)] == [True, False]
        assert memory.taken == 3 * SIZE
    with memory.share() as later:
        assert [later.take(RECORD, "json") for _ in range(4)] == [True, True, True, False]

    assert memory.figures() == {"bytes": 0, "bound": 3 * SIZE}


def test_headers_count_and_text_takes_less_than_json() -> None:
    memory = AnswerMemory()
    many = Record(0, 0, b"k", b"v" * 99, tuple(("h", b"x") for _ in range(10)))

    with memory.share() as share:
        share.take(RECORD, "string")
        text = memory.taken
        share.take(many, "string")

    assert text < SIZE
    assert share.taken > 2 * text + 4000
