"""A browser and the HTTP plane's token: who has it sees the pages, and lends it to no stranger."""

from collections.abc import Iterator

import pytest
from selenium.webdriver import Chrome

from tests.e2e.browser import browser, errors_of, wait_until
from trio_kafka.testing.processes import broker_process, unused_port

pytestmark = pytest.mark.slow

TOKEN = "s3:cret"
USER = f"any:{TOKEN.replace(':', '%3A')}@"
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


def test_browser_sees_a_page_only_with_the_token(plane: str, driver: Chrome) -> None:
    for without in ("", "any:wrong@", f"{TOKEN}@"):
        driver.get(f"http://{without}{plane}/metrics")
        assert "kafka_server" not in driver.page_source
        assert any("status of 401" in error for error in errors_of(driver))

    driver.get(f"http://{USER}{plane}/metrics")
    assert "kafka_server_" in driver.page_source

    driver.get(f"http://{plane}/metrics")  # it keeps what it was given
    assert "kafka_server_" in driver.page_source


def test_post_from_a_page_of_another_origin_is_refused_despite_the_token(
    plane: str, driver: Chrome
) -> None:
    driver.get(f"http://{USER}{plane}/metrics")

    driver.execute_script(POST, f"http://{plane}/metrics")
    wait_until(driver, lambda page: "want GET" in page.page_source)  # says the app: it was asked

    driver.get(f"http://{plane.replace('127.0.0.1', 'localhost')}/healthz")
    driver.execute_script(POST, f"http://{plane}/metrics")
    wait_until(
        driver,
        lambda page: "requests from pages of other origins are not allowed" in page.page_source,
    )
