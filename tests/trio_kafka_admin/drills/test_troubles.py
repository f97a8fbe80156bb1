"""The page of twelve troubles is what `troubles` writes, and has a picture of each."""

from tests.trio_kafka_admin.drills.troubles import (
    PAGE,
    PICTURES,
    TROUBLES,
    page,
    quotes,
    standalone,
    without_numbers,
)

LARGEST = 90_000  # bytes of a picture


def test_page_of_troubles_is_written_from_the_quotes_of_the_drills() -> None:
    text = PAGE.read_text()

    assert page(quotes(text)) == text, "run make troubles"


def test_every_trouble_has_one_small_picture_and_no_other_picture_is_there() -> None:
    pictures = {file.name: file for file in PICTURES.iterdir()}

    assert set(pictures) == {f"{trouble.name}.png" for trouble in TROUBLES}
    for file in pictures.values():
        assert file.read_bytes().startswith(b"\x89PNG")
        assert file.stat().st_size < LARGEST, file


def test_quotes_are_compared_without_their_numbers_and_line_breaks() -> None:
    assert without_numbers("> of 20,000 B/s\n> for 1.5 s") == "of 0 B/s for 0 s"


def test_page_that_stands_alone_has_its_styles_and_no_script() -> None:
    html = '<head><link rel="stylesheet" href="/x.css"><script src="/x.js" defer></script></head>'

    assert "--ground" in standalone(html)
    assert "<script" not in standalone(html)
    assert "<link" not in standalone(html)
