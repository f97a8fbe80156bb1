"""Views of a page: its width, its colours, and what a checker of accessibility says about it."""

from pathlib import Path
from typing import Any, Final

from selenium.webdriver import Chrome

from tests.clients.build import built, run
from tests.installed import need_or_skip

WIDTHS: Final = (390, 1280, 1920)
SCHEMES: Final = ("light", "dark")
_HEIGHTS: Final = {390: 844, 1280: 800, 1920: 1080}
_TALLEST: Final = 6000  # pixels of a picture
# Violations of these impacts are failures; two rules that are moderate are held, too.
_SERIOUS: Final = """
    const done = arguments[arguments.length - 1];
    axe.run(document, {resultTypes: ["violations"]}).then((result) => done(
      result.violations
        .filter((rule) => ["serious", "critical"].includes(rule.impact)
          || ["region", "landmark-unique"].includes(rule.id))
        .map((rule) => [rule.id, rule.nodes.slice(0, 3).map((node) => node.html.slice(0, 200))])
    ), (error) => done([["axe failed", [String(error)]]]));
"""
_REPORTS: Final = """
    window.policyReports = [];
    document.addEventListener("securitypolicyviolation", (event) =>
      policyReports.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""


def axe_source() -> str:
    """axe-core, as its lock says; installed once into the user's cache directory."""

    def build(home: Path) -> None:
        run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], home)

    need_or_skip("node", "npm")
    home = built("axe", build, within=Path(__file__).parent)
    return (home / "node_modules" / "axe-core" / "axe.min.js").read_text()


def record_policy_reports(driver: Chrome) -> None:
    """Keep what the content security policy refuses, on each page from the next one on."""
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": _REPORTS})


def policy_reports(driver: Chrome) -> list[str]:
    reports: list[str] = driver.execute_script("return policyReports")
    return reports


def set_view(driver: Chrome, width: int, scheme: str, height: int = 0) -> None:
    size = {"width": width, "height": height or _HEIGHTS[width], "deviceScaleFactor": 1}
    mobile = {"mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size | mobile)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def reset_view(driver: Chrome) -> None:
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def overflow(driver: Chrome) -> list[str]:
    """The page's width if it is wider than the screen, and the elements that reach beyond it."""
    script = """
        const wide = document.documentElement.clientWidth;
        if (document.documentElement.scrollWidth <= wide) return [];
        return [`${document.documentElement.scrollWidth} > ${wide}`,
          ...[...document.body.querySelectorAll("*")]
            .filter((element) => element.getBoundingClientRect().right > wide + 1)
            .slice(0, 5).map((element) => element.outerHTML.slice(0, 150))];
    """
    beyond: list[str] = driver.execute_script(script)
    return beyond


def serious_violations(driver: Chrome, axe: str) -> list[Any]:
    """Serious violations that axe-core finds on the page."""
    driver.execute_cdp_cmd("Runtime.evaluate", {"expression": axe})  # past the page's policy
    violations: list[Any] = driver.execute_async_script(_SERIOUS)
    return violations


def take_picture(driver: Chrome, target: Path, width: int, scheme: str) -> None:
    """Write a picture of the whole page, down to _TALLEST."""
    tall = int(driver.execute_script("return document.documentElement.scrollHeight"))
    set_view(driver, width, scheme, min(max(tall, _HEIGHTS[width]), _TALLEST))
    driver.save_screenshot(str(target))
    set_view(driver, width, scheme)
