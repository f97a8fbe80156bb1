"""The link to further rows."""

from tests.trio_kafka_admin.kit import read_html
from trio_kafka_admin.markup import join
from trio_kafka_admin.page import Place
from trio_kafka_admin.paging import further_rows

PLACE = Place("/admin")


def test_the_link_says_how_many_rows_follow_and_leads_to_them() -> None:
    data = {"total": 12, "first": 3, "of": "", "topics": [{}, {}]}

    link = read_html(join(further_rows(data, "topics", PLACE, "more, smaller"))).find("a")

    assert (link.text, link.attributes["href"]) == ("7 more, smaller", "/admin/topics?first=5")


def test_there_is_no_link_after_the_last_row() -> None:
    assert list(further_rows({"total": 5, "first": 3, "topics": [{}, {}]}, "topics", PLACE)) == []


def test_link_to_further_rows_keeps_what_they_were_searched_for() -> None:
    data = {"total": 12, "first": 3, "of": "a&b", "topics": [{}, {}]}
    (link,) = further_rows(data, "topics", PLACE)
    assert "first=5&amp;of=a%26b" in link
