"""The last lines of a child."""

import pytest

from trio_kafka_builtin.pipelines.lines import LONGEST, Lines


def test_lines_are_assembled_from_pieces_of_any_size() -> None:
    for size in (1, 2, 3, 100):
        lines = Lines(10)
        data = b"one\ntwo\r\n\nthr\tee"
        for start in range(0, len(data), size):
            lines.feed(data[start : start + size])

        assert lines.last(10) == ["one", "two", "", "thr     ee"]
        assert lines.count == 3
        lines.end()
        lines.end()
        assert lines.count == 4


def test_only_the_last_lines_are_kept() -> None:
    lines = Lines(3)
    lines.feed(b"".join(b"%d\n" % number for number in range(100)))

    assert lines.last(10) == ["97", "98", "99"]
    assert lines.last(2) == ["98", "99"]
    assert lines.count == 100


def test_a_line_without_an_end_takes_bounded_memory() -> None:
    lines = Lines(3)
    for _ in range(100):
        lines.feed(b"x" * 65536)

    [line] = lines.last(3)
    assert len(line) == LONGEST + 2
    assert line.endswith("x …")
    lines.feed(b"\nnext\n")
    assert lines.last(1) == ["next"]


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"\x1b[31mred", "\\x1b[31mred"),
        (b"\xff\xfe", "\N{REPLACEMENT CHARACTER}" * 2),
        (b"\0", "\\x00"),
    ],
)
def test_control_characters_and_invalid_utf_8_are_escaped(data: bytes, shown: str) -> None:
    lines = Lines(3)
    lines.feed(data)

    assert lines.last(1) == [shown]


def test_messages_of_the_broker_are_marked_and_begin_a_new_line() -> None:
    lines = Lines(3)
    lines.feed(b"begun")
    lines.say("ended")

    assert lines.last(3) == ["begun", "[trio-kafka] ended"]
