"""Scripts that a change must pass name files that exist."""

import re

import pytest

from tests.project.tree import ROOT

SCRIPTS = (".ci/run", ".ci/pythons", "Makefile")
PATH = re.compile(r"(?<![\w./=-])(?:tests|docs|examples|plugins)/[\w./-]*\w")


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_file_that_a_script_names_exists(script: str) -> None:
    paths = PATH.findall((ROOT / script).read_text())

    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []
