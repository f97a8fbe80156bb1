"""Every page of the admin UI as it looks, from a phone to a wide screen, light and dark, with names
that clients chose to do harm. One broker and one browser serve all tests.
"""

import os
import re
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.conftest import BRIEF_REBALANCE
from tests.e2e.browser import browser, errors_of, wait_until
from tests.e2e.views import (
    SCHEMES,
    WIDTHS,
    axe_source,
    overflow,
    policy_reports,
    record_policy_reports,
    reset_view,
    serious_violations,
    set_view,
    take_picture,
)
from tests.lanes import offset_below, sampled
from trio_kafka.testing.ports import unused_port
from trio_kafka.testing.processes import BrokerProcess, broker_process
from trio_kafka_admin.discovery import all_pages

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PAGES = [page.name for page in all_pages()]
# Also what opens from a page; a link in the first table row stands for the page behind it.
OPENED = (
    "requests?which=slowest",
    "requests first",
    "settings?which=all",
    "tasks?of=raft",
    "tree?path=replica-manager",
)
FIRST_LINK = "return document.querySelector('#live tbody a')?.href"
PICTURES = os.environ.get("TRIO_KAFKA_PICTURES")  # a directory for people who look at the pages
VIEWS = list(product(WIDTHS, SCHEMES))
# The short form has these: the narrow width and a wide one, each scheme. The scheme moves nothing.
SHORT = [(390, "light"), (1280, "dark")]
SCRIPT = "<script>document.title='ran'</script><img src=x onerror=\"document.title='ran'\">"
HOSTILE = (
    SCRIPT.encode(),
    b"control\0\x1b[31m\a\r\nends",
    "\u202eright to left\u202d \u0645\u0631\u062d\u0628\u0627".encode(),
    b"long" * 7500,
    b"\xe2\x28 no text",
)


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the admin UI of a broker with clients, groups and hostile names."""
    http = f"http://127.0.0.1:{unused_port()}"
    settings = (f"plugin.http.listeners={http}", "plugin.admin.refresh.ms=200", BRIEF_REBALANCE)
    with (
        broker_process(tmp_path_factory.mktemp("broker"), *settings) as broker,
        ExitStack() as stack,
    ):
        for number, name in enumerate(("orders", "billing")):
            stack.enter_context(traffic(broker, topic=name, client=f"shop-{number}"))
        stack.enter_context(traffic(broker, topic="news", client=SCRIPT, group=SCRIPT))
        for client_id in HOSTILE:
            stack.enter_context(connected(broker, client_id))
        yield f"{http}/admin"


@contextmanager
def connected(broker: BrokerProcess, client_id: bytes) -> Iterator[None]:
    """A connection that has asked for ApiVersions with this client id."""
    head = struct.pack(">hhih", 18, 0, 1, len(client_id)) + client_id
    with socket.create_connection(broker.address, 10) as connection:
        connection.sendall(struct.pack(">i", len(head)) + head)
        connection.recv(4096)  # empty if the broker refuses such a text
        yield


@contextmanager
def traffic(
    broker: BrokerProcess, topic: str, client: str, group: str = "readers"
) -> Iterator[None]:
    """A producer and a member of a group while the block runs."""
    address = {"bootstrap.servers": "{}:{}".format(*broker.address), "client.id": client}
    producer = Producer(address)
    for _ in range(20):
        producer.produce(topic, b"record" * 20)
    producer.flush()
    own = {"group.id": f"{topic}-{group}", "auto.offset.reset": "earliest"}
    # The block may take long, and nothing polls in it: the member stays, and its Fetch waits.
    consumer = Consumer(address | own | {"max.poll.interval.ms": 86_400_000})
    try:
        consumer.subscribe([topic])
        assert consumer.poll(30) is not None
        yield
    finally:
        consumer.close()


@pytest.fixture(scope="module")
def driver() -> Iterator[Chrome]:
    with browser() as started:
        record_policy_reports(started)
        yield started
        reset_view(started)


@pytest.mark.parametrize(("width", "scheme"), sampled(VIEWS, SHORT.__contains__))
def test_every_page_fits_the_screen_and_is_accessible(
    driver: Chrome, ui: str, size: Callable[[int, int], int], width: int, scheme: str
) -> None:
    """The checker of accessibility takes half of the time: in short, it has one page in three."""
    axe, step = axe_source(), size(3, 1)
    offset = offset_below(step)
    errors_of(driver)
    faults = []
    set_view(driver, width, scheme)
    for number, page in enumerate((*PAGES, *OPENED), offset):
        address, _, first = page.partition(" ")
        driver.get(f"{ui}/{address}")
        if first:
            link = wait_until(driver, lambda shown: shown.execute_script(FIRST_LINK))
            driver.get(str(link))
        if PICTURES:
            name = re.sub(r"[^a-z]+", "-", page)
            take_picture(driver, Path(PICTURES) / f"{name}-{width}-{scheme}.png", width, scheme)
        faults += [(page, fault) for fault in run_names(driver)]
        faults += [(page, fault) for fault in overflow(driver)]
        faults += [(page, fault) for fault in policy_reports(driver)]
        if number % step == 0:
            faults += [(page, fault) for fault in serious_violations(driver, axe)]

    assert faults == []
    assert errors_of(driver) == []


@pytest.fixture
def page(driver: Chrome) -> Iterator[Chrome]:
    """The browser with the usual view; a test fails for errors in its console."""
    reset_view(driver)
    driver.get("about:blank")
    errors_of(driver)
    yield driver
    assert errors_of(driver) == []


def press(page: Chrome, *keys: str) -> None:
    for key in keys:
        ActionChains(page).send_keys(key).perform()


def wait_for_refresh(page: Chrome) -> None:
    page.execute_script("live.firstElementChild.dataset.old = 1")
    wait_until(page, lambda shown: not shown.find_elements(By.CSS_SELECTOR, "[data-old]"))


def is_focused(page: Chrome, selector: str) -> bool:
    script = "return document.activeElement === document.querySelector(arguments[0])"
    return bool(page.execute_script(script, selector))


def run_names(driver: Chrome) -> list[str]:
    """Traces of client-chosen names that ran as code: the title they set, elements they made."""
    elements = driver.find_elements(By.CSS_SELECTOR, "img, iframe, [onerror]")
    return [driver.title] * (driver.title == "ran") + [
        str(element.get_attribute("outerHTML")) for element in elements
    ]


@pytest.mark.parametrize("name", ["overview", "clients", "connections", "groups", "requests"])
def test_names_that_clients_chose_run_nowhere_after_an_update(
    page: Chrome, ui: str, name: str
) -> None:
    page.get(f"{ui}/{name}")
    wait_for_refresh(page)

    assert run_names(page) == []


def test_names_that_clients_chose_are_shown_as_text(page: Chrome, ui: str) -> None:
    page.get(f"{ui}/connections")
    assert SCRIPT in page.execute_script("return live.innerText")


def test_fold_typed_text_scroll_position_and_focus_survive_updates(page: Chrome, ui: str) -> None:
    page.get(f"{ui}/settings?which=all")
    field = page.find_element(By.CSS_SELECTOR, "input[name=of]")
    field.send_keys("half a wo")
    page.execute_script("document.querySelector('details[id^=source-]').open = false")
    fold = page.find_element(By.CSS_SELECTOR, "details[id^=source-] > summary")
    fold.click()
    page.execute_script("scrollTo(0, 700)")
    page.execute_script("document.querySelectorAll('th button')[1].focus({preventScroll: true})")
    wait_for_refresh(page)
    wait_for_refresh(page)

    assert page.execute_script("return document.querySelector('details[id^=source-]').open")
    assert field.get_property("value") == "half a wo"
    assert page.execute_script("return scrollY") == 700
    assert page.execute_script(
        "return document.activeElement === document.querySelectorAll('th button')[1]"
    )


def test_text_typed_into_a_field_of_the_content_survives_updates(page: Chrome, ui: str) -> None:
    """Pages of plugins may have fields there."""
    page.get(f"{ui}/jobs")
    page.execute_script("""
        const fresh = live.cloneNode(true);
        for (const root of [live, fresh]) {
          const field = document.createElement("input");
          field.id = "field";
          field.setAttribute("value", root === live ? "old" : "new");
          root.append(field);
        }
        field = document.getElementById("field");
        field.value = "typed";
        morph(live, fresh);
        window.kept = document.getElementById("field").value;
        window.same = field.isConnected;
    """)

    assert page.execute_script("return [kept, same]") == ["typed", True]


def test_keys_find_pages_and_the_search(page: Chrome, ui: str) -> None:
    page.get(f"{ui}/overview")
    press(page, "g", "q")
    wait_until(page, lambda shown: shown.current_url == f"{ui}/queues")
    press(page, "/")
    assert is_focused(page, "#filter")
    press(page, "g", "r")  # is typed
    assert page.current_url == f"{ui}/queues"
    assert page.execute_script("return filter.value") == "gr"
    press(page, Keys.ESCAPE, "?")
    keys = page.find_element(By.CSS_SELECTOR, "dialog").text
    assert "filter the rows" in keys
    for title in ("Overview", "Requests", "Queues", "Tree", "Settings", "Log"):
        assert title in keys
    press(page, "?")
    wait_until(page, lambda shown: not shown.find_elements(By.CSS_SELECTOR, "dialog"))
    press(page, "g", "x")  # no page has this letter
    press(page, "g", "r")
    wait_until(page, lambda shown: shown.current_url == f"{ui}/requests")


def moment_of(page: Chrome) -> str:
    return str(page.execute_script("return document.querySelector('#rewind strong')?.textContent"))


def is_at(page: Chrome, ago: int) -> bool:
    """Whether the overview is shown as it was so many seconds ago, or at the nearest kept moment.

    That is far away if the page was opened a moment ago, and before that long ago.
    """
    said = re.fullmatch(r"as it was (?:(\d+) min )?(\d+) s ago", moment_of(page))
    age = int(said[1] or 0) * 60 + int(said[2]) if said else 0
    return f"ago={ago}" in page.current_url and age >= ago // 2


def test_slider_looks_back_by_keyboard_with_javascript_and_without(page: Chrome, ui: str) -> None:
    page.get(f"{ui}/overview")
    slider = wait_until(page, lambda shown: shown.find_element(By.ID, "ago"), 15)
    page.execute_script("arguments[0].focus(); document.kept = true", slider)
    press(page, Keys.ARROW_RIGHT)
    wait_until(page, lambda shown: is_at(shown, 5))
    past = page.find_element(By.ID, "live").text
    page.execute_async_script("setTimeout(arguments[0], 500)")  # two refresh intervals
    assert page.find_element(By.ID, "live").text == past  # the past does not move
    assert is_focused(page, "#ago")
    press(page, Keys.HOME)
    wait_until(page, lambda shown: "ago" not in shown.current_url)
    wait_until(page, lambda shown: moment_of(shown) == "now")
    wait_for_refresh(page)
    assert page.execute_script("return document.kept")

    page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page.get(f"{ui}/overview")
        page.find_element(By.ID, "ago").send_keys(Keys.ARROW_RIGHT)
        page.find_element(By.CSS_SELECTOR, "#rewind button").click()
        wait_until(page, lambda shown: is_at(shown, 5))
        page.find_element(By.LINK_TEXT, "back to now").click()
        wait_until(page, lambda shown: "ago" not in shown.current_url)
    finally:
        page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    page.get(f"{ui}/overview?ago=5")
    page.find_element(By.ID, "ago").send_keys(Keys.HOME)
    wait_until(page, lambda shown: "ago" not in shown.current_url)
    wait_for_refresh(page)


def test_hidden_tab_asks_nothing_and_asks_again_when_it_is_shown(page: Chrome, ui: str) -> None:
    page.get(f"{ui}/jobs")
    wait_for_refresh(page)
    first = page.current_window_handle
    page.execute_script("""
        window.times = 0;
        const ask = fetch;
        window.fetch = (...words) => { times += 1; return ask(...words); };
    """)
    hide = "Object.defineProperty(document, 'hidden', {value: arguments[0], configurable: true});"
    change = "document.dispatchEvent(new Event('visibilitychange'))"

    page.execute_script(hide + change, True)
    wait_until(page, lambda shown: not shown.execute_script("return asking"))
    before = page.execute_script("return times")
    page.execute_async_script("setTimeout(arguments[0], 800)")  # four refresh intervals
    assert page.execute_script("return times") == before

    page.execute_script(hide + change, False)
    assert page.execute_script("return times") == before + 1
    wait_for_refresh(page)
    assert page.current_window_handle == first


def test_navigation_is_folded_on_a_phone_and_opens(page: Chrome, ui: str) -> None:
    set_view(page, 390, "light")
    page.get(f"{ui}/jobs")

    link = page.find_element(By.CSS_SELECTOR, "nav a[href$='/queues']")
    assert not link.is_displayed()
    page.find_element(By.CSS_SELECTOR, "#menu summary").click()
    link.click()
    wait_until(page, lambda shown: shown.current_url == f"{ui}/queues")
    assert page.execute_script("return document.querySelector('header').offsetHeight") < 70


def test_pages_are_complete_without_javascript(page: Chrome, ui: str) -> None:
    page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page.get(f"{ui}/settings")
        assert page.find_elements(By.CSS_SELECTOR, "#settings tbody tr")
        assert not page.find_element(By.ID, "pause").is_displayed()
        page.find_element(By.CSS_SELECTOR, "input[name=of]").send_keys("num.io.threads\n")
        wait_until(page, lambda shown: "of=num.io" in shown.current_url)
        assert len(page.find_elements(By.CSS_SELECTOR, "#settings tbody tr")) == 1
        page.find_element(By.CSS_SELECTOR, "nav a[href$='/tree']").click()
        fold = page.find_element(By.CSS_SELECTOR, "#tree details:not([open])")
        fold.find_element(By.TAG_NAME, "summary").click()
        assert fold.get_attribute("open")
    finally:
        page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_stack_of_a_task_is_one_click_from_the_tree(page: Chrome, ui: str) -> None:
    page.get(f"{ui}/tree?path=raft-io")
    page.find_element(By.LINK_TEXT, "stack").click()
    wait_until(page, lambda shown: "/tasks?of=raft" in shown.current_url)

    wait_until(page, lambda shown: shown.find_elements(By.ID, "stack"))
    assert "trio_kafka.raft.driver" in page.find_element(By.ID, "stack").text
