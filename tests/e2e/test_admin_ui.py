"""The admin UI in a browser: pages that stay up to date, and keep what somebody did with them."""

import json
import os
import signal
import urllib.request
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from tests.e2e.browser import browser, errors_of, log_in, wait_until
from trio_kafka.testing.ports import unused_port
from trio_kafka.testing.processes import BrokerProcess, ask_api_versions, broker_process

pytestmark = pytest.mark.slow

REFRESH_MS = 100
NO_RATE = "\N{EN DASH}"
_numbers = count()
PAGES = ("overview", "tree", "queues", "requests", "connections", "plugins")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[BrokerProcess, str]]:
    """A broker, and the address of its admin UI."""
    http = f"http://127.0.0.1:{unused_port()}"
    settings = (f"plugin.http.listeners={http}", f"plugin.admin.refresh.ms={REFRESH_MS}")
    with broker_process(tmp_path_factory.mktemp("broker"), *settings) as broker:
        yield broker, f"{http}/admin"


@pytest.fixture(scope="module")
def started() -> Iterator[Chrome]:
    with browser() as result:
        yield result


@pytest.fixture
def driver(started: Chrome) -> Iterator[Chrome]:
    """One that has had no errors when the test is over."""
    started.get("about:blank")  # the page before may ask a broker that has gone
    errors_of(started)
    yield started
    # A browser asks for an icon of what is no page, such as JSON.
    assert [error for error in errors_of(started) if "favicon.ico" not in error] == []


@pytest.fixture
def ui(served: tuple[BrokerProcess, str]) -> str:
    return served[1]


def find(driver: Chrome, selector: str) -> WebElement:
    return driver.find_element(By.CSS_SELECTOR, selector)


def texts(driver: Chrome, selector: str) -> list[str]:
    """Read at one moment: elements come and go."""
    script = "return [...document.querySelectorAll(arguments[0])].map(one => one.innerText)"
    result: list[str] = driver.execute_script(script, selector)
    return result


def wait_for_refresh(driver: Chrome) -> None:
    """Until what is shown now has become something else."""
    driver.execute_script("live.firstElementChild.dataset.old = 1")
    wait_until(driver, lambda page: not page.find_elements(By.CSS_SELECTOR, "[data-old]"))


def show_paused(driver: Chrome, address: str) -> None:
    """A page that changes only when it is told to."""
    driver.get(address)
    wait_for_refresh(driver)
    find(driver, "#pause").click()
    wait_until(driver, lambda page: not page.execute_script("return asking"))


def first_cells(driver: Chrome, table: str) -> list[str]:
    return texts(driver, f"#{table} tbody td:first-child")


def test_every_page_is_shown_without_an_error(driver: Chrome, ui: str) -> None:
    driver.get(ui)
    for name in PAGES:
        driver.find_element(By.LINK_TEXT, name.capitalize()).click()
        assert (driver.current_url, find(driver, "h1").text) == (f"{ui}/{name}", name.capitalize())
        assert find(driver, "main").text
        color = find(driver, "header a").value_of_css_property("text-decoration-line")
        assert color == "none"  # its style sheet is there
        driver.find_element(By.LINK_TEXT, "JSON").click()
        assert isinstance(json.loads(find(driver, "pre").text), dict)
        driver.back()


def test_open_page_shows_new_requests_without_being_loaded_again(
    driver: Chrome, served: tuple[BrokerProcess, str]
) -> None:
    broker, ui = served
    driver.get(f"{ui}/requests?which=latest&api=ApiVersions")
    before = len(texts(driver, "tbody tr"))
    driver.execute_script("window.stays = true")

    for _ in range(2):
        ask_api_versions(broker.address)

    wait_until(driver, lambda _: len(texts(driver, "tbody tr")) == before + 2)
    assert driver.execute_script("return window.stays")  # the page itself was not loaded again


def test_table_stays_sorted_after_a_refresh(driver: Chrome, ui: str) -> None:
    driver.get(f"{ui}/plugins")
    usual = first_cells(driver, "plugins")

    def click(head: str) -> None:
        buttons = driver.find_elements(By.CSS_SELECTOR, "#plugins th button")
        next(button for button in buttons if button.text.startswith(head)).click()

    click("plugin")
    assert first_cells(driver, "plugins") == sorted(usual) != usual
    wait_for_refresh(driver)
    assert first_cells(driver, "plugins") == sorted(usual)
    click("plugin")
    assert first_cells(driver, "plugins") == sorted(usual, reverse=True)
    click("order")
    wait_for_refresh(driver)
    orders = [int(text) for text in texts(driver, "#plugins tbody td:nth-child(8)")]
    assert orders == sorted(orders, reverse=True) != sorted(orders)
    assert texts(driver, "th[aria-sort=descending]") == ["order"]


def test_focused_element_keeps_the_focus_after_a_refresh(driver: Chrome, ui: str) -> None:
    driver.get(f"{ui}/plugins")
    driver.execute_script("document.querySelectorAll('th button')[2].focus()")

    wait_for_refresh(driver)

    focused = "return document.activeElement === document.querySelectorAll('th button')[2]"
    assert driver.execute_script(focused)


SHOWN = "return [...live.querySelectorAll('tbody tr')].map((one) => one.cells[0].textContent)"


@pytest.mark.parametrize("focused", [0, 1])
def test_moved_table_row_keeps_its_element_and_focus_after_a_refresh(
    driver: Chrome, ui: str, focused: int
) -> None:
    """A click on the row, or the focus on it, does not reach another one."""
    show_paused(driver, f"{ui}/plugins")
    change = """
        const wanted = live.cloneNode(true);
        const [body, there] = [wanted, live].map((one) => one.querySelector("tbody"));
        window.row = there.rows[arguments[0]];
        window.words = row.cells[0].textContent;
        row.querySelector("a").focus();
        body.append(body.rows[0]);
        body.rows[3].remove();
        body.prepend(body.rows[5].cloneNode(true));
        body.rows[0].dataset.key = "a new one";
        body.append(body.rows[4].cloneNode(true)); // a key that stands there twice
        window.order = [...body.rows].map((one) => one.cells[0].textContent);
        morph(live, wanted);
    """
    driver.execute_script(change, focused)

    assert driver.execute_script(SHOWN) == driver.execute_script("return order")
    assert driver.execute_script("return row.isConnected && row.cells[0].textContent === words")
    assert driver.execute_script("return document.activeElement === row.querySelector('a')")


def test_focused_tree_leaf_keeps_its_element_when_other_leaves_are_removed(
    driver: Chrome, ui: str
) -> None:
    show_paused(driver, f"{ui}/tree")
    driver.execute_script("""
        document.querySelectorAll("#tree details").forEach((one) => { one.open = true; });
        const wanted = live.cloneNode(true);
        const [jobs, there] = [wanted, live].map(
          (one) => one.querySelector("details[id='broker-1/scheduler']").querySelectorAll(".leaf"));
        window.link = there[4].querySelector("a");
        window.href = link.href;
        link.focus();
        jobs[0].remove();
        jobs[2].remove();
        morph(live, wanted);
    """)

    assert driver.execute_script("return document.activeElement === link && link.href === href")


def test_elements_missing_in_the_new_page_are_removed(driver: Chrome, ui: str) -> None:
    show_paused(driver, f"{ui}/overview")
    driver.execute_script("""
        const wanted = live.cloneNode(true);
        for (const one of [...wanted.children].slice(1)) one.remove();
        wanted.append("words");
        morph(live, wanted);
    """)

    assert len(driver.find_elements(By.CSS_SELECTOR, "#live > *")) == 1
    assert find(driver, "#live").text.endswith("words")


def test_folded_tree_node_stays_folded_after_a_refresh(driver: Chrome, ui: str) -> None:
    driver.get(f"{ui}/tree")
    scheduler = "details[id='broker-1/scheduler']"
    assert find(driver, scheduler).get_attribute("open")

    find(driver, f"{scheduler} > summary small").click()

    for _ in range(2):
        assert not find(driver, scheduler).get_attribute("open")
        wait_for_refresh(driver)
    find(driver, f"{scheduler} > summary small").click()
    wait_for_refresh(driver)
    assert find(driver, scheduler).get_attribute("open")


def test_filter_hides_rows_without_its_words_also_after_a_refresh(driver: Chrome, ui: str) -> None:
    driver.get(f"{ui}/jobs")
    total = len(first_cells(driver, "jobs"))

    find(driver, "#filter").send_keys("CHECKPOINT")

    def shown() -> list[str]:
        return [text for text in texts(driver, "#jobs tbody tr:not([hidden])") if text]

    for _ in range(2):
        assert 0 < len(shown()) < total
        assert all("checkpoint" in text.lower() for text in shown())
        wait_for_refresh(driver)
    find(driver, "#filter").send_keys(Keys.BACKSPACE * len("CHECKPOINT"))
    wait_until(driver, lambda _: len(shown()) == total)


def test_paused_page_sends_no_requests(driver: Chrome, ui: str) -> None:
    driver.get(f"{ui}/plugins")
    wait_for_refresh(driver)

    find(driver, "#pause").click()
    wait_until(driver, lambda page: not page.execute_script("return asking"))
    before = pages_rendered(ui)
    driver.execute_async_script(f"setTimeout(arguments[0], {5 * REFRESH_MS})")

    assert pages_rendered(ui) == before + 1
    find(driver, "#pause").click()
    wait_for_refresh(driver)
    assert pages_rendered(ui) > before + 2


def test_paused_page_does_not_show_a_response_that_arrives_later(driver: Chrome, ui: str) -> None:
    driver.get(f"{ui}/plugins")
    wait_for_refresh(driver)

    driver.execute_async_script("""
        const done = arguments[0];
        const wait = () => {
          if (asking) return setTimeout(wait, 1);
          const answered = refresh();
          document.getElementById("pause").click();
          document.querySelector("#plugins td").dataset.old = 1;
          answered.then(done);
        };
        wait();
    """)

    assert driver.find_elements(By.CSS_SELECTOR, "[data-old]")


def pages_rendered(ui: str) -> int:
    """How many pages the broker has rendered; asking for it is one more."""
    unshared = f"n={next(_numbers)}"  # a rendering for nobody else, so a fresh one
    with urllib.request.urlopen(f"{ui}/api/tree?own=1&path=plugins/admin&{unshared}") as answer:
        rows = json.load(answer)["rows"]
    [node] = [row for row in rows if row["name"] == "admin-requests"]
    return int(node["figures"]["items"])


@pytest.mark.parametrize("marked", ["#queues td", "body"])
def test_page_is_not_refreshed_while_text_is_selected(driver: Chrome, ui: str, marked: str) -> None:
    driver.get(f"{ui}/queues")
    wait_for_refresh(driver)
    driver.execute_script(
        "document.querySelector('#queues td').dataset.old = 1;"
        "getSelection().selectAllChildren(document.querySelector(arguments[0]))",
        marked,
    )

    driver.execute_async_script(f"setTimeout(arguments[0], {5 * REFRESH_MS})")
    assert driver.find_elements(By.CSS_SELECTOR, "[data-old]")

    driver.execute_script("getSelection().removeAllRanges()")
    wait_until(driver, lambda page: not page.find_elements(By.CSS_SELECTOR, "[data-old]"))


def test_page_says_that_the_broker_is_silent_and_later_that_it_was(
    started: Chrome, tmp_path: Path
) -> None:
    http = f"http://127.0.0.1:{unused_port()}"
    with broker_process(tmp_path, f"plugin.http.listeners={http}") as broker:
        started.get(f"{http}/admin/overview")
        wait_for_refresh(started)
        os.kill(broker.process.pid, signal.SIGSTOP)
        try:
            wait_until(started, lambda page: "has not answered for" in find(page, "#said").text, 20)
            assert find(started, "main").text  # what was last known stays
            assert find(started, "body.stale")
        finally:
            os.kill(broker.process.pid, signal.SIGCONT)
        wait_until(started, lambda page: "answers again since" in find(page, "#said").text, 20)
        assert not started.find_elements(By.CSS_SELECTOR, "body.stale")


def test_page_says_that_the_broker_has_ended_and_that_it_was_restarted(
    started: Chrome, tmp_path: Path
) -> None:
    port, http = unused_port(), f"http://127.0.0.1:{unused_port()}"
    settings = (f"plugin.http.listeners={http}", f"plugin.admin.refresh.ms={REFRESH_MS}")
    with broker_process(tmp_path, *settings, port=port):
        started.get(f"{http}/admin/plugins")
        wait_for_refresh(started)
        assert find(started, "#said").text == ""
    wait_until(started, lambda page: "cannot be reached" in find(page, "#said").text, 20)
    assert find(started, "main").text
    with broker_process(tmp_path, *settings, port=port):
        wait_until(started, lambda page: "was restarted" in find(page, "#said").text, 30)
        wait_for_refresh(started)
        assert "was restarted" in find(started, "#said").text


def test_pages_are_shown_only_with_the_token(
    started: Chrome, tmp_path_factory: pytest.TempPathFactory
) -> None:
    address = f"127.0.0.1:{unused_port()}"
    settings = (
        f"plugin.http.listeners=http://{address}",
        "plugin.http.token=secret",
        f"plugin.admin.refresh.ms={REFRESH_MS}",
    )
    with broker_process(tmp_path_factory.mktemp("guarded"), *settings):
        started.get(f"http://{address}/admin/tree")
        assert not started.find_elements(By.CSS_SELECTOR, "#tree")

        log_in(started, "secret")
        wait_until(started, lambda page: page.find_elements(By.CSS_SELECTOR, "#tree") != [])
        wait_for_refresh(started)
        find(started, "#tree .leaf a").click()
        wait_for_refresh(started)
        assert find(started, "#said").text == ""
