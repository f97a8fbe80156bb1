"""Settings of the documentation site: `make docs` builds it in build/docs.

The index, docs/README.md, is the only list of pages: its sections become the navigation of the
site. A page that it does not name, and a link that leads nowhere, fail the build.
"""

import re
from collections.abc import Iterator
from importlib import metadata

from sphinx.application import Sphinx

project = "trio-kafka"
release = metadata.version("trio-kafka")
html_title = f"trio-kafka {release}"
html_theme = "furo"
html_show_sourcelink = False
html_copy_source = False
extensions = ["myst_parser"]
# Pages link to the README and to examples, so the whole repository is the source.
root_doc = "docs/README"
include_patterns = ["*.md", "docs/**.md", "examples/**.md", "plugins/**.md", "admin_ui/**.md"]
exclude_patterns = [".*", "build", "data", "dist", "tests", "trio_kafka", "docs/changes.d/[!R]*"]
myst_heading_anchors = 4
highlight_language = "none"
suppress_warnings = ["misc.highlighting_failure"]


def navigation(text: str) -> Iterator[str]:
    """Hidden tables of contents, one for each section of the index, with its pages in order."""
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        caption = section.partition("\n")[0]
        pages = dict.fromkeys(re.findall(r"\]\(([\w./-]+)\.md\)", section))
        options = (":hidden:", f":caption: {caption}", "")
        yield "\n".join(("\n```{toctree}", *options, *pages, "```\n"))


def add_navigation(_: Sphinx, page: str, source: list[str]) -> None:
    """Event source-read: only the index has tables of contents; READMEs stand in none of them."""
    if page == root_doc:
        source[0] += "".join(navigation(source[0]))
    elif page.endswith("README") and not page.startswith("docs/"):
        source[0] = f"---\norphan: true\n---\n{source[0]}"


def setup(app: Sphinx) -> None:
    app.connect("source-read", add_navigation)
