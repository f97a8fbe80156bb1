"""Parts around the content of a page."""

from tests.trio_kafka_admin.kit import read_html
from trio_kafka_admin.discovery import all_pages
from trio_kafka_admin.layout import foot, group_of, head, sentence
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
    links = page.find("nav").all("a")
    assert [link.attributes["href"] for link in links] == [
        f"/ui/{ui_page.name}" for ui_page in pages
    ]
    assert [link.text for link in links if "aria-current" in link.attributes] == [pages[1].title]
    assert page.find("a", href=f"/ui/api/{pages[1].name}?a=1&b=2").text == "JSON"
    assert page.find("div", id="live").attributes == {
        "id": "live",
        "data-refresh-ms": "50",
        "data-run": "a7",
    }
    assert page.find("title").text.startswith(pages[1].title)
    assert page.find("main").all("form") != []
    assert page.find("main").find("h1").text == pages[1].title


def test_first_link_of_a_page_skips_to_its_content() -> None:
    pages = all_pages()
    page = read_html(
        head(pages[0], pages, PLACE, query="", refresh_ms=0, run="", controls=Html("")) + foot()
    )

    target = page.all("a")[0].attributes["href"]
    assert target == f"#{page.find('main').attributes['id']}"


def test_navigation_groups_pages_by_their_order() -> None:
    pages = all_pages()
    text = head(
        pages[0],
        pages,
        PLACE,
        query="",
        refresh_ms=0,
        run="",
        controls=Html(""),
        broker="broker <1>",
    )
    page = read_html(text + foot())

    titles = {
        group.attributes["data-group"]: [link.text for link in group.all("a")]
        for group in page.find("nav").all("ul")
    }
    assert [title for group in titles.values() for title in group] == [
        ui_page.title for ui_page in pages
    ]
    assert list(titles) == sorted(titles, key=["Traffic", "Inside", "Broker", "More"].index)
    assert titles["Traffic"][0] == "Overview"
    assert [group_of(ui_page) for ui_page in pages] == [
        name for name, group in titles.items() for _ in group
    ]
    assert page.find("a", class_="brand").text == "broker <1>"


def test_page_has_no_inline_script_and_no_inline_style() -> None:
    pages = all_pages()
    page = read_html(
        head(pages[0], pages, PLACE, query="", refresh_ms=0, run="", controls=Html("")) + foot()
    )

    assert [script.content for script in page.all("script")] == [[], []]
    assert page.all("style") == []
    assert page.find("div", id="live").attributes == {"id": "live", "data-refresh-ms": "0"}


def test_error_page_has_the_error_and_a_link_to_the_overview() -> None:
    page = read_html(sentence("404", "no node <x>", PLACE))

    assert [paragraph.text for paragraph in page.all("p")] == ["no node <x>", "to the overview"]
    assert [heading.text for heading in page.find("main").all("h1")] == ["404"]
    assert page.all("div", id="live") == []
