"""A browser and the login of the HTTP plane: a session is for its own pages only."""

from collections.abc import Iterator

import pytest
from selenium.webdriver import Chrome

from tests.e2e.browser import browser, log_in, wait_until
from trio_kafka.testing.ports import unused_port
from trio_kafka.testing.processes import broker_process

pytestmark = pytest.mark.slow

TOKEN = "s3:cret"
POST = """
const form = document.createElement("form");
form.method = "post";
form.action = arguments[0];
document.body.append(form);
form.submit();
"""


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """HOST:PORT of a broker's HTTP plane."""
    address = f"127.0.0.1:{unused_port()}"
    settings = [f"plugin.http.listeners=http://{address}", f"plugin.http.token={TOKEN}"]
    with broker_process(tmp_path_factory.mktemp("broker"), *settings):
        yield address


@pytest.fixture
def driver() -> Iterator[Chrome]:
    with browser() as started:
        yield started


def test_person_logs_in_and_out(plane: str, driver: Chrome) -> None:
    driver.get(f"http://{plane}/admin/topics")
    assert driver.title == "trio-kafka"
    log_in(driver, "wrong")
    wait_until(driver, lambda page: "password is wrong" in page.page_source)
    log_in(driver, TOKEN)
    wait_until(driver, lambda page: page.find_elements("id", "user") != [])

    assert driver.current_url == f"http://{plane}/admin/topics"
    (cookie,) = driver.get_cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert driver.execute_script("return document.cookie") == ""

    driver.find_element("css selector", "form.account button").click()
    wait_until(driver, lambda page: page.current_url.endswith("/login"))
    driver.get(f"http://{plane}/metrics")
    assert "kafka_server_" not in driver.page_source


def test_page_of_another_origin_cannot_use_the_session(plane: str, driver: Chrome) -> None:
    driver.get(f"http://{plane}/metrics")
    log_in(driver, TOKEN)
    wait_until(driver, lambda page: "kafka_server_" in page.page_source)

    driver.execute_script(POST, f"http://{plane}/metrics")
    wait_until(driver, lambda page: "want GET" in page.page_source)  # says the app: it was asked

    driver.get(f"http://{plane.replace('127.0.0.1', 'localhost')}/healthz")
    driver.execute_script(POST, f"http://{plane}/metrics")
    wait_until(
        driver,
        lambda page: "requests from pages of other origins are not allowed" in page.page_source,
    )
