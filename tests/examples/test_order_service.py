"""The order service: its own tests pass, and the tutorial shows exactly its files."""

import re
import shutil
from pathlib import Path

import pytest

from tests.project.tree import ROOT

pytest_plugins = ["pytester"]
SERVICE = ROOT / "examples" / "order_service"
TUTORIAL = (ROOT / "docs" / "tutorial" / "order-service.md").read_text()
FILES = (
    "pyproject.toml",
    "shop.py",
    "packing.py",
    "test_packing.py",
    "billing.py",
    "test_billing.py",
)


@pytest.mark.slow
def test_the_tests_of_the_order_service_pass(pytester: pytest.Pytester) -> None:
    for name in FILES:
        shutil.copy(SERVICE / name, Path(pytester.path, name))

    outcome = pytester.runpytest_subprocess(
        *("-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:asyncio", "-q")
    )

    outcome.assert_outcomes(passed=3)


def test_the_tutorial_shows_each_file_of_the_order_service_in_turn() -> None:
    blocks = re.findall(r"^```(?:python|toml)\n(.*?)^```$", TUTORIAL, re.MULTILINE | re.DOTALL)

    assert blocks == [(SERVICE / name).read_text() for name in FILES]
    assert sorted(FILES) == sorted(
        path.name for path in SERVICE.iterdir() if path.suffix in {".py", ".toml"}
    )
