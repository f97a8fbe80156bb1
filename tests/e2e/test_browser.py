"""The browser of the tests: what it can see, and that nothing of it is left."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.common.exceptions import TimeoutException, WebDriverException
from selenium.webdriver import Chrome

from tests.e2e.browser import browser, errors_of, processes_of, wait_until

pytestmark = pytest.mark.slow


def page(script: str) -> str:
    return f"data:text/html,<title>before</title><script>{script}</script>"


@pytest.fixture(scope="module")
def driver() -> Iterator[Chrome]:
    with browser() as started:
        yield started


def test_page_errors_are_the_errors_of_the_browser_console(driver: Chrome) -> None:
    errors_of(driver)
    driver.get(page("document.title = 'fine'; console.log('a word')"))
    assert (driver.title, errors_of(driver)) == ("fine", [])

    driver.get(page("throw new Error('broken')"))
    [error] = errors_of(driver)
    assert "broken" in error
    assert errors_of(driver) == []


def test_wait_until_waits_for_a_true_value_or_times_out(driver: Chrome) -> None:
    result = iter([None, "", "there"])

    assert wait_until(driver, lambda _: next(result)) == "there"
    with pytest.raises(TimeoutException):
        wait_until(driver, lambda seen: seen.title == "never", 0.1)


@pytest.mark.parametrize("other", ["kafka.example", "127.0.0.2"])
def test_browser_resolves_no_other_host(other: str, driver: Chrome) -> None:
    with pytest.raises(WebDriverException, match="ERR_NAME_NOT_RESOLVED"):
        driver.get(f"http://{other}/")


@pytest.mark.parametrize("how", ["a failed test", "a dead driver"])
def test_browser_leaves_no_processes_and_no_directory_after_a_failure(how: str) -> None:
    with pytest.raises(AssertionError, match=how), browser() as driver:
        directory = driver.capabilities["chrome"]["userDataDir"].removesuffix("/data")
        assert processes_of(directory)
        if how == "a dead driver":
            driver.service.process.kill()
        raise AssertionError(how)

    assert not Path(directory).exists()
    assert processes_of(directory) == []


@pytest.mark.parametrize("missing", ["chromium", "chromedriver"])
def test_browser_test_is_skipped_without_an_installed_browser(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None if name == missing else f"/{name}")

    expected = f"{missing} is not installed: apt-get install chromium chromium-driver"
    with pytest.raises(pytest.skip.Exception, match=expected), browser():
        pass
