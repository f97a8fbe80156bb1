"""HTML that cannot be broken by what is shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trio_kafka_admin.kit import read_html
from trio_kafka.protocol.texts import printable
from trio_kafka_admin.markup import begin, join, place_text, tag, text


@given(st.text())
def test_any_text_is_escaped_in_content_and_attributes(value: str) -> None:
    page = read_html(tag("p", text(value), title=value))

    paragraph = page.find("p")
    assert "".join(map(str, paragraph.content)) == printable(value)
    assert paragraph.attributes == {"title": printable(value)}


def test_keyword_arguments_become_html_attributes() -> None:
    assert begin("td", class_="number", data_value=0, title=None) == (
        '<td class="number" data-value="0">'
    )
    assert begin("input", hidden=True, required=False) == "<input hidden>"
    assert begin("input", name="q", aria_label="a & b") == (
        '<input name="q" aria-label="a &amp; b">'
    )


def test_elements_are_nested_in_the_given_order() -> None:
    cells = [tag("td", text(number)) for number in range(3)]

    assert tag("tr", *cells) == "<tr><td>0</td><td>1</td><td>2</td></tr>"
    assert tag("tr", join(cells)) == tag("tr", *cells)


def test_markup_and_control_characters_are_escaped() -> None:
    assert text("<b>\x1b[2J\u202e'\"") == "&lt;b&gt;\\x1b[2J\\u202e&#x27;&quot;"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("127.0.0.1:9092", '127.0.0.1<wbr><span class="whole">:9092</span>'),
        ("main:67 run", 'main<wbr><span class="whole">:67</span> run'),
        ("<b>:10<i>", '&lt;b&gt;<wbr><span class="whole">:10</span>&lt;i&gt;'),
        ("a:b 17", "a:b 17"),
    ],
)
def test_ports_and_lines_of_source_are_never_broken(value: str, expected: str) -> None:
    assert place_text(value) == expected
