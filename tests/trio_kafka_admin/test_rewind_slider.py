"""The control that shows a page as it was."""

import pytest

from tests.trio_kafka_admin.kit import read_html
from trio_kafka_admin.page import Place
from trio_kafka_admin.rewind_slider import duration, slider


@pytest.mark.parametrize(
    ("seconds", "words"), [(5, "5 s"), (60, "1 min 0 s"), (899.6, "15 min 0 s")]
)
def test_times_are_in_minutes_and_seconds(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_the_slider_ends_at_the_oldest_data_and_leads_back_to_now() -> None:
    form = read_html(slider("overview", Place("/admin"), ago_s=30, oldest_s=62.5)).find("form")
    control = form.find("input", name="ago")

    assert (control.attributes["max"], control.attributes["value"]) == ("62", "30")
    assert form.find("strong").text == "as it was 30 s ago"
    assert form.find("a").attributes["href"] == "/admin/overview"


def test_there_is_no_slider_without_a_past() -> None:
    control = read_html(slider("overview", Place("/admin"), ago_s=0, oldest_s=4.0))

    assert control.find("div", id="rewind").content == []


def test_slider_of_a_page_of_now_says_so_and_has_a_button() -> None:
    form = read_html(slider("overview", Place("/admin"), ago_s=0, oldest_s=62.5)).find("form")

    assert (form.find("strong").text, form.find("button").text) == ("now", "look back")
    assert form.all("a") == []
