"""Dots of the picture."""

from trio_kafka_admin.landing.dots import MOST, Dot, DotState, dot_row


def dots(count: int, state: DotState = "idle") -> list[Dot]:
    return [Dot(state, f"{state} {number}", None, str(number)) for number in range(count)]


def test_row_keeps_its_dots_in_order_while_there_is_room() -> None:
    row = dot_row("p", [*dots(2), *dots(1, "wrong"), *dots(2)], "words")

    assert [dot.state for dot in row.dots] == ["idle", "idle", "wrong", "idle", "idle"]
    assert (row.label, row.words, row.more) == ("p", "words", 0)


def test_row_without_room_for_all_keeps_those_in_trouble() -> None:
    row = dot_row("p", [*dots(MOST), *dots(1, "watch"), *dots(1, "busy"), *dots(1, "wrong")])

    assert [dot.state for dot in row.dots[:4]] == ["wrong", "watch", "busy", "idle"]
    assert (len(row.dots), row.more) == (MOST, 3)
