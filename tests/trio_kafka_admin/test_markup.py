"""HTML that cannot be broken by what is shown."""

from hypothesis import given
from hypothesis import strategies as st

from tests.trio_kafka_admin.kit import read_html
from trio_kafka.protocol.texts import printable
from trio_kafka_admin.markup import begin, join, tag, text


@given(st.text())
def test_any_text_is_escaped_in_content_and_attributes(value: str) -> None:
    page = read_html(tag("p", text(value), title=value))

    paragraph = page.one("p")
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
