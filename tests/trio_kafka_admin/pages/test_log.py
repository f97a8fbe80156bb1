"""The log, as a page."""

import pytest
from trio.testing import MockClock

from tests.trio_kafka_admin.kit import admin_ui, read_html
from trio_kafka.introspect.log import get_logger
from trio_kafka_admin.page import Place
from trio_kafka_admin.pages.log import PAGE

LOGGER = get_logger("tests.log_page")


@pytest.mark.parametrize(
    ("level", "levels"),
    [
        ("DEBUG", ["ERROR", "WARNING", "INFO", "DEBUG"]),
        ("INFO", ["ERROR", "WARNING", "INFO"]),
        ("WARNING", ["ERROR", "WARNING"]),
        ("ERROR", ["ERROR"]),
    ],
)
async def test_page_shows_events_of_a_level_and_above_the_newest_first(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture, level: str, levels: list[str]
) -> None:
    caplog.set_level("DEBUG")
    async with admin_ui() as ui:
        for name in ("debug", "info", "warning", "error"):
            getattr(LOGGER, name)(f"an event of {name}", client="<b>")
        twin = await ui.json(f"/admin/api/log?level={level}&of=tests.log_page")
        page = await ui.page(f"/admin/log?level={level}&of=tests.log_page")

        assert [event["level"] for event in twin["events"]] == levels
        assert twin["events"][0]["text"] == 'an event of error client="<b>"'
        lines = page.find("ol", id="log").all("li")
        assert [line.text.split(" ", 2)[2] for line in lines] == [
            f"{event['logger']} {event['text']}" for event in twin["events"]
        ]
        assert len({line.attributes["id"] for line in lines}) == len(levels)


async def test_search_looks_at_the_text_of_events(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with admin_ui() as ui:
        LOGGER.info("connection closed", peer="one")
        LOGGER.info("connection closed", peer="other")
        result = (await ui.json("/admin/api/log?of=PEER=other"))["events"]
        page = await ui.page("/admin/log?of=no%20such%20event")

        assert [event["text"] for event in result] == ["connection closed peer=other"]
        assert page.find("div", id="live").text == "No event of the log matches."


async def test_unknown_level_is_refused(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        answer = await ui.json("/admin/api/log?level=LOUD", status=400)

        assert "want one of DEBUG, INFO" in answer["message"]


def test_lines_of_a_traceback_are_shown_below_one_another() -> None:
    event = {"number": 3, "time": "t", "level": "ERROR", "logger": "l", "text": "failed\n  | <x>"}
    data = {"level": "DEBUG", "total": 5, "events": [event]}
    page = read_html("".join(PAGE.show(data, Place("/admin"))))

    assert len(page.find("li", id="event-3").all("br")) == 1
    assert page.find("li", id="event-3").text.endswith("failed | <x>")
    assert page.all("p")[-1].text == "4 older ones: use ?limit="
