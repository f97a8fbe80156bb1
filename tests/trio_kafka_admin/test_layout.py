"""What stands around a page."""

from tests.trio_kafka_admin.kit import read_html
from trio_kafka_admin.discovery import all_pages
from trio_kafka_admin.layout import foot, head, sentence
from trio_kafka_admin.markup import Html
from trio_kafka_admin.page import Place

PLACE = Place("/ui")


def test_a_page_links_to_the_others_and_to_its_json() -> None:
    pages = all_pages()
    controls = Html("<form></form>")
    text = (
        head(
            pages[1],
            pages,
            PLACE,
            query="a=1&b=2",
            refresh_ms=50,
            run="a7",
            controls=controls,
        )
        + foot()
    )
    page = read_html(text)

    assert text.startswith("<!doctype html><html lang=")
    links = page.one("nav").all("a")
    assert [one.attributes["href"] for one in links] == [f"/ui/{one.name}" for one in pages]
    assert [one.text for one in links if "aria-current" in one.attributes] == [pages[1].title]
    assert page.one("a", href=f"/ui/api/{pages[1].name}?a=1&b=2").text == "JSON"
    assert page.one("main").attributes == {
        "id": "live",
        "data-refresh-ms": "50",
        "data-run": "a7",
    }
    assert page.one("title").text.startswith(pages[1].title)
    assert page.all("form") != []


def test_page_has_no_inline_script_and_no_inline_style() -> None:
    pages = all_pages()
    page = read_html(
        head(pages[0], pages, PLACE, query="", refresh_ms=0, run="", controls=Html("")) + foot()
    )

    assert [one.content for one in page.all("script")] == [[]]
    assert page.all("style") == []
    assert page.one("main").attributes == {"id": "live", "data-refresh-ms": "0"}


def test_error_page_has_the_error_and_a_link_to_the_overview() -> None:
    page = read_html(sentence("404", "no node <x>", PLACE))

    assert [one.text for one in page.all("p")] == ["no node <x>", "to the overview"]
    assert page.all("main") == []
