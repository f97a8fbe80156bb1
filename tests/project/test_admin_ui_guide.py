"""docs/how-to/admin-ui.md: its pages, settings and questions are there."""

import re

import pytest
from trio.testing import MockClock

from tests.project.tree import ROOT
from tests.trio_kafka_admin.kit import admin_ui
from trio_kafka.config.setting import settings_of
from trio_kafka_admin.discovery import all_pages
from trio_kafka_admin.findings.rule_list import RULES
from trio_kafka_admin.settings import AdminSettings

GUIDE = (ROOT / "docs" / "how-to" / "admin-ui.md").read_text()
TROUBLES = (ROOT / "docs" / "how-to" / "twelve-troubles.md").read_text()
RULE_FILES = sorted((ROOT / "admin_ui/trio_kafka_admin/findings/rules").glob("*.py"))
PAGES = re.findall(r"^\| `/admin/(\w+)` \|", GUIDE, re.MULTILINE)
TARGETS = re.findall(r"(/admin/api\S*?)[`\s,:]", GUIDE)


def test_admin_ui_guide_lists_every_page_in_the_order_of_the_ui() -> None:
    assert [page.name for page in all_pages()] == PAGES


def test_admin_ui_guide_names_exactly_the_settings_of_the_plugin() -> None:
    named = set(re.findall(r"`plugin\.admin\.([a-z.]+)", GUIDE))

    assert named - {"enabled"} == set(settings_of(AdminSettings)) - {"path"}


@pytest.mark.parametrize("target", sorted(set(TARGETS)))
async def test_every_api_path_in_the_admin_ui_guide_is_served(
    autojump_clock: MockClock, target: str
) -> None:
    async with admin_ui() as ui:
        await ui.json(target)


async def test_invalid_query_parameters_are_refused_by_the_pages_named_in_the_guide(
    autojump_clock: MockClock,
) -> None:
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| (.+?) \| .+ \|$", GUIDE, re.MULTILINE)
    wrong = {"depth": "x", "limit": "x", "which": "x", "api": "none", "path": "nowhere"}
    wrong |= {"first": "x", "name": "none", "correlation": "x"}

    async with admin_ui() as ui:
        for names, pages in rows:
            for page in re.findall(r"`(\w+)`", pages):
                for name in set(re.findall(r"\w+", names)) & set(wrong):
                    answer = await ui.ask(f"/admin/api/{page}?{name}={wrong[name]}")
                    assert answer.status in (400, 404), (page, name)
    assert len(rows) == 11


def test_admin_ui_guide_describes_the_kinds_of_findings() -> None:
    section = GUIDE.partition("## Findings")[2].partition("## Cost")[0]

    assert len(RULES) == 27, "tell of the new rule in the guide"
    assert section.count("\n- ") == 13


def test_twelve_troubles_have_a_heading_and_name_rules_that_exist() -> None:
    kinds = set(re.findall(r"\bKinds? `([a-z-]+)`(?: and `([a-z-]+)`)?", TROUBLES))
    sources = "".join(path.read_text() for path in RULE_FILES)

    assert TROUBLES.count("\n## ") == 12
    for kind in {name for pair in kinds for name in pair if name}:
        assert f'"{kind}"' in sources, kind
