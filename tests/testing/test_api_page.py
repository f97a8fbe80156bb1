from tests.testing.api_page import PAGE, page


def test_api_page_says_what_the_docstrings_say() -> None:
    assert PAGE.read_text() == page(), "run: .venv/bin/python -m tests.testing.api_page"
