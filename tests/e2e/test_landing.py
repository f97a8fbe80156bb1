"""The landing page in a browser: what it says of a busy broker, and how it looks.

TRIO_KAFKA_PICTURES is a directory that keeps the pictures.
"""

import json
import os
import re
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from selenium.common.exceptions import TimeoutException
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from tests.conftest import BRIEF_REBALANCE
from tests.e2e.browser import browser, errors_of, wait_until
from tests.e2e.landing_load import load
from tests.lanes import sampled
from trio_kafka.testing.ports import unused_port
from trio_kafka.testing.processes import broker_process

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

WIDTHS = (390, 1280, 1920)
SAMPLE = ((390, False), (1280, True))  # dark colours have the same places
REFRESH_MS = 250
TITLES = {
    "group settlement waits for member settle-a (127.0.0.1)": "wrong",
    "client importer is throttled": "watch",
    "fetch of nightly-export has waited": "waits",
}

# The ten sentences of docs/how-to/admin-ui.md, by what the page says of each.
TEN_SENTENCES = (
    r"^\d+ clients, [\d.]+ requests? a second[^§]*\b\d+ connections open",
    r"a request takes [\d.,]+ ms of work .*; the loop is busy for \d+ % of the time",
    r"1 is wrong: group settlement waits for member settle-a",
    r"settle-a .*\(its last heartbeat came [^)]+ ago\) and is removed in .+; 1 other member waits",
    r"client importer is throttled: .* [\d,]+ of 20,000 B/s used; it is read again in",
    r"fetch of nightly-export has waited .*: [\d,]+ of 100,000 bytes from .*; it is answered in",
    r"Listener\b[^§]*\nConnections\b[^§]*\nRequest channel\b[^§]*\nHandlers\b[^§]*\nAnswers\b",
    r"\nHandlers\b[^§]*\nParked\b[^§]*\nGroup coordinator\b[^§]*\nLog *\d[^§]*\nAnswers\b",
    r"\n0 of \d+ places[^§]*\nfull 0 times[^§]*\n\d of 8 busy",
    r"(?=[^§]*\nbilling\n2 members\b)(?=[^§]*\narchive\n1 member\b)[^§]*disk \d+ % full",
)
UNFOLDED = """document.querySelectorAll("#live details").forEach((part) => { part.open = true; });
    return document.getElementById("live").innerText.replaceAll("\u202f", "");"""


@pytest.fixture(scope="module")
def started() -> Iterator[Chrome]:
    with browser() as result:
        yield result


@pytest.fixture
def driver(started: Chrome) -> Iterator[Chrome]:
    """One whose console has said nothing when the test is over: no error, no report of the CSP."""
    started.get("about:blank")
    errors_of(started)
    yield started
    assert errors_of(started) == []


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    return Path(os.environ.get("TRIO_KAFKA_PICTURES", tmp_path))


@pytest.fixture(scope="module", params=[True, False], ids=["busy", "calm"])
def landing(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, bool]]:
    """Address of the landing page of a broker under load, and whether it has troubles."""
    http = f"http://127.0.0.1:{unused_port()}"
    refresh = f"plugin.admin.refresh.ms={REFRESH_MS}"
    settings = (f"plugin.http.listeners={http}", refresh, BRIEF_REBALANCE)
    with (
        broker_process(tmp_path_factory.mktemp("broker"), *settings) as broker,
        load(broker, troubles=request.param) as clients,
    ):
        if request.param:  # once settle-a is a member, another one wants to be one, too
            wait_until_assigned(f"{http}/admin")
            topics = ["payments", "orders"]
            clients.run(clients.consume, "settle-b", "settlement", topics)
        yield f"{http}/admin/overview", request.param


def wait_until_assigned(ui: str) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        page = read(f"{ui}/api/overview")
        stages = {stage["name"]: stage for stage in page["lanes"][0]["stages"]}
        rows = {row["label"]: row["words"] for row in stages["coordinator"]["rows"]}
        if rows.get("settlement", "").startswith("1 member"):
            return
        time.sleep(0.2)
    raise AssertionError("settle-a did not join")


def read(address: str) -> Any:
    with urllib.request.urlopen(address, timeout=10) as answer:
        return json.load(answer)


def titles(driver: Chrome) -> dict[str, str]:
    """Severities of the findings that need no click, by their titles."""
    script = """return [...document.querySelectorAll("#live > .findings > .finding")].map(
        (row) => [row.querySelector("b").textContent, row.className.split(" ")[1]])"""
    return dict(driver.execute_script(script))


def has_all(driver: Chrome) -> bool:
    there = titles(driver)
    return all(
        any(title.startswith(start) and severity == kind for title, severity in there.items())
        for start, kind in TITLES.items()
    )


def unsaid(driver: Chrome) -> list[str]:
    """Which of the ten sentences the page does not say now."""
    shown = driver.execute_script(UNFOLDED)
    return [words for words in TEN_SENTENCES if not re.search(words, shown)]


def set_view(driver: Chrome, width: int, *, dark: bool, height: int = 900) -> None:
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def test_landing_page_names_each_cause_without_a_click(
    driver: Chrome, landing: tuple[str, bool]
) -> None:
    address, has_troubles = landing
    set_view(driver, 1280, dark=False)  # another test may have left a narrow one
    driver.get(address)

    if has_troubles:
        wait_until(driver, has_all, 45)  # a Fetch may just have been answered
    driver.get(address)
    headline = driver.find_element(By.CSS_SELECTOR, ".headline").text
    if has_troubles:
        wait_until(driver, has_all, 30)
        assert "group settlement waits for member settle-a" in headline
        open_stages = driver.find_elements(
            By.CSS_SELECTOR, ".stage.wrong[open], .stage.watch[open]"
        )
        assert len(open_stages) >= 2
        missing: list[str] = []

        def says_all(driver: Chrome) -> bool:
            missing[:] = unsaid(driver)  # a parked Fetch may just have been answered
            return not missing

        with suppress(TimeoutException):
            wait_until(driver, says_all, 30)
        assert missing == [], driver.execute_script(UNFOLDED)
    assert " requests a second" in headline


@pytest.mark.parametrize(
    ("width", "dark"), sampled(product(WIDTHS, (False, True)), lambda view: view in SAMPLE)
)
def test_landing_page_fits_its_window_and_makes_a_picture(
    driver: Chrome, landing: tuple[str, bool], pictures: Path, *, width: int, dark: bool
) -> None:
    address, has_troubles = landing
    set_view(driver, width, dark=dark)
    driver.get(address)
    if has_troubles:
        wait_until(driver, has_all, 45)

    size = (
        "const e = document.documentElement; return [e.scrollWidth, e.clientWidth, e.scrollHeight]"
    )
    scroll_width, shown_width, height = driver.execute_script(size)
    set_view(driver, width, dark=dark, height=min(height, 3000))
    name = f"landing-{'busy' if has_troubles else 'calm'}-{width}{'-dark' if dark else ''}.png"
    assert driver.save_screenshot(str(pictures / name))

    assert scroll_width <= shown_width
    beyond = """return [...document.querySelectorAll("#live .way *, #live .findings *")].filter(
        (part) => part.getBoundingClientRect().right > innerWidth + 1).length"""
    assert driver.execute_script(beyond) == 0


@pytest.mark.parametrize("landing", [True], ids=["busy"], indirect=True)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_screenshot_for_the_readme_is_small(
    driver: Chrome, landing: tuple[str, bool], tmp_path: Path, *, dark: bool
) -> None:
    """`make screenshot` keeps it."""
    address, _ = landing
    set_view(driver, 1280, dark=dark, height=960)
    driver.get(address)
    wait_until(driver, has_all, 45)
    target = Path(os.environ.get("TRIO_KAFKA_SCREENSHOT", tmp_path))
    picture = target / f"landing{'-dark' if dark else ''}.png"

    assert driver.save_screenshot(str(picture))
    assert picture.stat().st_size < 250_000


def test_first_view_is_complete_without_javascript(
    driver: Chrome, landing: tuple[str, bool]
) -> None:
    address, has_troubles = landing
    if has_troubles:  # a group is stuck once it has waited for some seconds
        driver.get(address)
        wait_until(driver, has_all, 45)
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        driver.get(address)
        text = driver.find_element(By.ID, "live").text
    finally:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})

    assert "requests a second" in text
    assert ("settle-a" in text) is has_troubles


@pytest.mark.parametrize("landing", [True], ids=["busy"], indirect=True)
def test_dot_of_the_stuck_request_leads_to_a_page_about_it(
    driver: Chrome, landing: tuple[str, bool]
) -> None:
    address, _ = landing
    driver.get(address)
    wait_until(driver, has_all, 45)
    look = "#live > .findings > .finding.wrong a"
    target = driver.find_element(By.CSS_SELECTOR, look).get_attribute("href")
    driver.get(str(target))

    assert "settlement" in driver.find_element(By.CSS_SELECTOR, "main").text
