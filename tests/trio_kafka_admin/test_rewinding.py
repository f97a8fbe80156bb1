"""Pages as they were in the last 15 minutes."""

import pytest
import trio
from trio.testing import MockClock

from tests.trio_kafka_admin.kit import admin_ui
from trio_kafka_admin.rewinding import EVERY_S, KEPT_S, Past
from trio_kafka_http.asgi_json import HttpError


async def test_the_data_nearest_to_a_time_are_returned_with_their_age(
    autojump_clock: MockClock,
) -> None:
    past = Past()
    for number in range(4):
        await past.keep({"number": number})
        await trio.sleep(10)

    assert await past.at(10) == ({"number": 3}, pytest.approx(10))
    assert await past.at(19) == ({"number": 2}, pytest.approx(20))
    assert await past.at(500) == ({"number": 0}, pytest.approx(40))
    assert past.oldest_s == pytest.approx(40)


async def test_the_present_is_not_shown_as_the_past(autojump_clock: MockClock) -> None:
    past = Past()
    await past.keep({"number": 0})
    only = await past.at(5)
    await trio.sleep(30)
    await past.keep({"number": 1})

    assert only == ({"number": 0}, 0)
    assert await past.at(5) == ({"number": 0}, pytest.approx(30))
    await trio.sleep(3)
    assert await past.at(5) == ({"number": 1}, pytest.approx(3))


async def test_data_are_kept_at_most_once_in_five_seconds_and_for_15_minutes(
    autojump_clock: MockClock,
) -> None:
    past = Past()
    for second in range(int(KEPT_S) + 100):
        await past.keep({"second": second})
        await trio.sleep(1)

    ages = {(await past.at(ago_s))[1] for ago_s in range(int(KEPT_S) + 100)}
    assert len(ages) == pytest.approx(KEPT_S / EVERY_S, abs=2)
    assert KEPT_S - 2 * EVERY_S < past.oldest_s <= KEPT_S


async def test_without_a_past_there_is_nothing_to_look_at(autojump_clock: MockClock) -> None:
    past = Past()
    with pytest.raises(HttpError, match="nothing is kept of this page"):
        await past.at(10)
    await past.keep({})
    await trio.sleep(KEPT_S + 1)

    assert past.oldest_s == 0.0


async def test_the_overview_is_shown_as_it_was(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        first = await ui.json("/admin/api/overview")
        await ui.served.create_topic("t", 3)
        await trio.sleep(30)
        now = await ui.json("/admin/api/overview")
        past = await ui.json("/admin/api/overview?ago=30")
        page = await ui.page("/admin/overview?ago=30")
        fresh = await ui.page("/admin/overview")

    assert past == first
    assert now != first
    assert page.find("form", class_="rewind").find("strong").text == "as it was 30 s ago"
    assert page.find("div", id="live").attributes["data-refresh-ms"] == "0"
    assert fresh.find("div", id="live").attributes["data-refresh-ms"] != "0"
    assert fresh.find("form", class_="rewind").find("strong").text == "now"


async def test_an_age_out_of_bounds_is_refused(autojump_clock: MockClock) -> None:
    async with admin_ui() as ui:
        for ago in ("-1", "901", "x"):
            await ui.json(f"/admin/api/overview?ago={ago}", 400)
        await ui.json("/admin/api/overview?ago=5", 404)
