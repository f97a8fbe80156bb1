"""A browser without a window: the machine's Chromium, driven by selenium.

It reaches this machine alone, and nothing of it is left when its block ends: no process, and no
file, as all that it writes is in a directory of its own.
"""

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeVar
from unittest.mock import patch

import pytest
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.support.wait import WebDriverWait

T = TypeVar("T")
_NEEDED: Final = "apt-get install chromium chromium-driver"
_FLAGS: Final = (
    "--headless=new",
    "--no-sandbox",  # which does not run as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
    "--window-size=1400,1000",
)
# selenium looks for a driver with a program that downloads one, unless it is told of one. Here that
# program is a file which is none: if it were ever asked for, that would be an error.
_VARIABLES: Final = {
    "SE_MANAGER_PATH": os.devnull,
    "SE_OFFLINE": "true",
    "SE_AVOID_STATS": "true",
    "no_proxy": "*",
    "NO_PROXY": "*",
}
_COMMAND_S: Final = 20  # the most that the driver may take for one; selenium's is 120
_END_S: Final = 1.0  # a browser takes 0.1 s


@contextmanager
def browser() -> Iterator[Chrome]:
    """A browser that has seen nothing yet. The test is skipped where the machine has none."""
    binary, chromedriver = _need("chromium"), _need("chromedriver")
    with ExitStack() as stack:
        directory = stack.enter_context(TemporaryDirectory(prefix="trio-kafka-browser-"))
        stack.enter_context(patch.dict(os.environ, _VARIABLES))
        stack.callback(_end, directory)
        own = {"HOME": directory, "TMPDIR": directory, "XDG_CONFIG_HOME": f"{directory}/config"}
        service = ChromeService(chromedriver, env={**os.environ, **own})
        stack.callback(_stop, service)
        driver = Chrome(options=_options(binary, directory), service=service)
        stack.callback(driver.quit)
        driver.command_executor.client_config.timeout = _COMMAND_S
        driver.set_page_load_timeout(_COMMAND_S)
        driver.implicitly_wait(0)
        yield driver


def wait_until(driver: Chrome, condition: Callable[[Chrome], T], seconds: float = 10.0) -> T:
    """Result of `condition`, once it is true. selenium's TimeoutException when time is up."""
    return WebDriverWait(driver, seconds, poll_frequency=0.02).until(condition)


def errors_of(driver: Chrome) -> list[str]:
    """Messages of its console since the last call: errors of scripts, and what did not load.

    A page that names no icon of its own is one of these: /favicon.ico is not found.
    """
    return [entry["message"] for entry in driver.get_log("browser")]


def _need(program: str) -> str:
    result = shutil.which(program)
    if result is None:
        pytest.skip(f"{program} is not installed: {_NEEDED}")
    return result


def _options(binary: str, directory: str) -> ChromeOptions:
    options = ChromeOptions()
    options.binary_location = binary
    for flag in (*_FLAGS, f"--user-data-dir={directory}/data"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "SEVERE"})
    return options


def _stop(service: ChromeService) -> None:
    """For a driver whose browser did not start; else it has been stopped."""
    if getattr(service, "process", None) is not None:
        service.stop()


def _end(directory: str) -> None:
    """Wait for the processes of a browser. One whose driver has died lives on: it is killed."""
    end = time.monotonic() + _END_S
    while processes := processes_of(directory):
        if time.monotonic() > end:
            for process in processes:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        time.sleep(0.01)  # they are no children of this process


def processes_of(directory: str) -> list[int]:
    """Those of a browser: each has its directory in its command line; a zombie has none."""
    result = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            if directory.encode() in (place / "cmdline").read_bytes():
                result.append(int(place.name))
    return result


def log_in(driver: Chrome, password: str) -> None:
    """Fill in the login page that the browser shows."""
    for name, text in (("user", "any"), ("password", password)):
        driver.find_element("name", name).send_keys(text)
    driver.find_element("tag name", "button").click()
