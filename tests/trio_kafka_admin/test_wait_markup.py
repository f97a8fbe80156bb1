"""Waits in pages."""

from tests.trio_kafka_admin.kit import DASH, read_html
from trio_kafka.introspect.waits import Subject, Wait
from trio_kafka_admin.page import Place
from trio_kafka_admin.wait_markup import amount, on_link, remaining, wait_data, wait_item

PLACE = Place("/admin")
BYTES = Wait(
    cause="bytes",
    words="12 of 100,000 bytes from topic rare",
    on=Subject("topic", "rare"),
    needs=100_000,
    has=12,
    unit="bytes",
    age_s=3.0,
    left_s=27.4,
    then="it is answered",
)
PLAIN = Wait(cause="steps", words="its next slice", on=Subject("task", "slices"))


def test_wait_is_shown_with_its_figures_and_its_end() -> None:
    item = read_html(wait_item(wait_data(BYTES), PLACE)).find("li")

    assert [line.text for line in item.all("div")] == [
        "topic rare (bytes)",
        "12 of 100,000 bytes from topic rare 12 of 100,000 bytes",
        "for 3.0 s, 27 s left, then it is answered",
    ]
    assert item.find("a").attributes["href"] == "/admin/topics?name=rare"
    assert item.find("meter").attributes["max"] == "100000"


def test_wait_without_figures_has_no_gauge_and_no_times() -> None:
    item = read_html(wait_item(wait_data(PLAIN), PLACE)).find("li")

    assert [line.text for line in item.all("div")] == ["task slices (steps)", "its next slice"]
    assert item.all("meter") == []


def test_cells_of_a_wait_are_dashes_where_nothing_is_known() -> None:
    shown, plain = wait_data(BYTES), wait_data(PLAIN)

    assert read_html(amount(shown)).text == "12 of 100,000 bytes"
    assert read_html(remaining(shown)).text == "27 s"
    assert read_html(amount(plain)).text == read_html(remaining(plain)).text == DASH
    assert read_html(on_link(plain, PLACE)).text == "task slices"
    assert read_html(amount({**shown, "has": None, "needs": 1.5})).text == "1.5 bytes"
