"""The live screen as lines."""

from attrs import evolve

from tests.cli.live_top.kit import OVERVIEW, life, reading
from trio_kafka.cli.live_top.documents import Finding
from trio_kafka.cli.live_top.reading import Reading
from trio_kafka.cli.live_top.screen import MOST_FINDINGS, Piece, fit, screen
from trio_kafka.cli.live_top.view import View


def texts(
    shown: Reading, view: View | None = None, *, width: int = 100, height: int = 24
) -> list[str]:
    lines = screen(shown, view or View(), title="top", width=width, height=height)
    return ["".join(piece.text for piece in line) for line in lines]


def test_screen_shows_headline_stages_findings_and_the_slowest_requests() -> None:
    lines = texts(reading())

    assert lines[:5] == [
        "top",
        "2 clients, 1 is wrong",
        "3 connections open",
        "Listener 2 accepted > Handlers 1 of 8 busy",
        "wrong  group a waits for member b",
    ]
    assert lines[6] == " 1 slowest  2 in flight  3 lag  4 APIs  5 queues "
    assert "total ms v" in lines[7]
    assert [line.split()[0] for line in lines[8:10]] == ["Produce", "Fetch"]
    assert len(lines) == 24
    assert "q end" in lines[-1]


def test_stages_have_the_style_of_their_state() -> None:
    lines = screen(reading(), View(), title="top", width=100, height=24)

    assert [piece.style for piece in lines[3]] == ["well", "watch"]
    assert lines[4][0].style == "wrong"


def test_screen_without_the_admin_ui_says_why_and_shows_the_tables() -> None:
    lines = texts(reading(None, missing="no admin UI there"))

    assert lines[1] == "no admin UI there"
    assert any(line.startswith("Produce") for line in lines)


def test_lines_fit_the_terminal_whatever_its_size() -> None:
    for width in (1, 10, 40, 200):
        for height in (1, 2, 8, 50):
            lines = texts(reading(), width=width, height=height)
            assert len(lines) == height
            assert all(len(line) <= width for line in lines)


def test_stages_that_do_not_fit_one_line_go_on_in_the_next() -> None:
    lines = texts(reading(), width=30)

    assert lines[3:5] == ["Listener 2 accepted", " > Handlers 1 of 8 busy"]


def test_findings_beyond_the_first_ones_are_counted() -> None:
    findings = [Finding(severity="watch", words=f"number {n}") for n in range(MOST_FINDINGS + 2)]
    lines = texts(reading(evolve(OVERVIEW, findings=findings)))

    assert "and 2 more in the admin UI" in lines
    assert not any(f"number {MOST_FINDINGS}" in line for line in lines)


def test_filter_keeps_rows_that_contain_it_in_any_case() -> None:
    lines = texts(reading(), View(filter="SHOP"))

    assert any(line.startswith("Produce") for line in lines)
    assert not any(line.startswith("Fetch") for line in lines)
    assert "no rows" in texts(reading(), View(filter="no-such-client"))


def test_growing_lag_comes_before_a_large_one_that_stays() -> None:
    lines = texts(reading(), View(table=2, order=4))

    names = [line.split()[0] for line in lines if line.startswith(("late", "calm"))]
    assert names == ["late", "calm"]


def test_rows_start_where_a_person_has_scrolled_to_and_the_last_one_stays() -> None:
    assert not any(line.startswith("Produce") for line in texts(reading(), View(first=1)))
    assert any(line.startswith("Fetch") for line in texts(reading(), View(first=100)))


def test_text_that_a_client_has_chosen_cannot_move_the_cursor() -> None:
    hostile = evolve(reading(), slowest=[life("Fetch", client="\x1b[2J\n")])

    assert not any("\x1b" in line or "\n" in line for line in texts(hostile))
    assert fit([Piece("a\x1bb")], 80)[0].text == "a\\x1bb"


def test_help_and_pause_and_a_filter_that_is_being_typed_are_shown() -> None:
    assert any("sort by the next column" in line for line in texts(reading(), View(help=True)))
    assert texts(reading(), View(paused=True))[0] == "top  paused"
    assert texts(reading(), View(typing=True, filter="ab"))[-1].startswith("/ab")
