"""Relative links of all Markdown pages lead to files that are tracked, and to headings in them."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from tests.lanes import together
from tests.project.tree import ROOT, modules, tracked_files

NEWS = re.compile(r"docs/changes\.d/[+\d]")
PAGES = sorted(
    path for path in tracked_files() if path.suffix == ".md" and not NEWS.match(str(path))
)
FENCE = re.compile(r"^( *)(```+|~~~+).*?^\1\2[^\n]*$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?<=\n\n)(?:(?: {4}|\t).*\n)+")
CODE = re.compile(r"`+[^`]*`+")
LINK = re.compile(r"\]\(([^)\s]+)(?: \"[^\"]*\")?\)")
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)


def prose(text: str) -> str:
    """The page without its code blocks and code spans, which may look like links."""
    return CODE.sub("", INDENTED.sub("", FENCE.sub("", text)))


def anchors(text: str) -> set[str]:
    """Anchors of the headings, as GitHub and MyST make them."""
    seen: Counter[str] = Counter()
    result = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        result.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return result


def broken_links(page: Path, root: Path = ROOT) -> Iterator[str]:
    text = (root / page).read_text()
    for target in LINK.findall(prose(text)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = unquote(target).partition("#")
        expected = (root / page.parent / path).resolve() if path else root / page
        if not expected.exists() or not expected.is_relative_to(root):
            yield f"{page}: {target}: there is no such file"
        elif anchor and anchor not in anchors(expected.read_text()):
            yield f"{page}: {target}: {expected.name} has no such heading"


@together(PAGES)
def test_every_relative_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    assert list(broken_links(page)) == []


def test_every_page_of_the_documentation_can_be_reached_from_the_index() -> None:
    docs = ROOT / "docs"
    reached, waiting = set[Path](), [docs / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        targets = (target.partition("#")[0] for target in LINK.findall(prose(page.read_text())))
        waiting += [
            result
            for target in targets
            if target.endswith(".md") and (result := (page.parent / target).resolve()).is_file()
        ]

    pages = {ROOT / page for page in PAGES if page.parts[0] == "docs"}
    assert sorted(str(page.relative_to(docs)) for page in pages - reached) == []


def test_link_check_reports_broken_links(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "# One two\n\n[ok](#one-two) [ok](b.md#a-b) [code](b.md#ab-1) [bad](c.md) [bad](#two)\n"
        "[bad](b.md#c) `[code](d.md)` [web](https://example.com)\n\n```\n[code](e.md)\n```\n"
    )
    (tmp_path / "b.md").write_text("## A b\n## `a`b\n## a.b\n```\n# c\n```\n")

    assert list(broken_links(Path("a.md"), tmp_path)) == [
        "a.md: c.md: there is no such file",
        "a.md: #two: a.md has no such heading",
        "a.md: b.md#c: b.md has no such heading",
    ]


def test_title_of_a_page_is_plain_words_without_class_names() -> None:
    names = {
        node.name
        for module in modules()
        for node in ast.parse((ROOT / module).read_text()).body
        if isinstance(node, ast.ClassDef)
    }
    titles = {path: (ROOT / path).read_text().partition("\n")[0] for path in PAGES}

    assert [
        path
        for path, title in titles.items()
        if set(re.findall(r"\w*[a-z][A-Z]\w*", title)) & names
    ] == []
