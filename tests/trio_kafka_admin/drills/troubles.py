"""The page of twelve troubles: `docs/how-to/twelve-troubles.md`, written from what the drills show.

A drill calls `tell` while its trouble lasts. Usually that holds its finding against the page. With
TRIO_KAFKA_TROUBLES, a directory, it leaves the finding and the landing page there instead; `make
troubles` makes the pictures and the page of these.
"""

import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import fill
from typing import Any, Final

from attrs import frozen

from tests.project.tree import ROOT
from tests.trio_kafka_admin.kit import Ui
from trio_kafka_admin.static_files import read_static_files

PAGE: Final = ROOT / "docs" / "how-to" / "twelve-troubles.md"
PICTURES: Final = ROOT / "docs" / "images" / "troubles"
DIRECTORY: Final = "TRIO_KAFKA_TROUBLES"
_WIDTH: Final = 120
_NUMBER: Final = re.compile(r"\d[\d,.]*\d|\d")
_HEAD: Final = (
    "After this page you know how the landing page of the [admin UI](admin-ui.md) names common "
    "troubles, and what to do about each. Each one is planted in a live broker by a drill "
    "(`tests/trio_kafka_admin/drills`). Within five seconds the page names its cause, without a "
    "click. Quotes and pictures are those of the drills; `make troubles` makes this page again."
)


@frozen(kw_only=True)
class Trouble:
    """One drill. name: of its picture. heading: of its part of the page; empty: the part of the
    drill before it goes on. kind: of its finding. advice: what to do, and what else is to be seen.
    """

    name: str
    heading: str
    kind: str
    advice: str


TROUBLES: Final = (
    Trouble(
        name="slow-plugin",
        heading="All handlers are busy with one slow plugin",
        kind="slow-plugin",
        advice="Below it stand `busy-handlers`, slow APIs and long waits: they are gone when the "
        "plugin is quick again. Disable the plugin (`plugin.enricher.enabled=false`), or give it a "
        "deadline and a limit of concurrent calls. The pages answer all the same, as they need no "
        "handler.",
    ),
    Trouble(
        name="full-channel",
        heading="The request channel is full",
        kind="full-channel",
        advice="It stands below its cause, nearly always handlers that do not come back: here the "
        "same plugin. Connections are not read until there is room. More handlers "
        "(`num.io.threads`) help only if they wait for something; a larger channel "
        "(`queued.max.requests`) only hides it.",
    ),
    Trouble(
        name="min-bytes",
        heading="A fetch waits for min.bytes",
        kind="waiting-fetch",
        advice="Nothing is wrong: the client asks for large answers. If its records come too late, "
        "lower `fetch.min.bytes` or `fetch.max.wait.ms` of the client.",
    ),
    Trouble(
        name="slow-sync",
        heading="A produce waits for a slow disk",
        kind="slow-sync",
        advice="The requests that wait for the sync stand below it. The page names the log "
        "directory: look at its disk. Topics with `flush.messages` wait for each sync; others do "
        "not.",
    ),
    Trouble(
        name="unread-answers",
        heading="A client does not read its answers",
        kind="unread-answers",
        advice="The client hangs, or its network does. The broker keeps the rest of one answer and "
        "reads nothing more from it; after `connections.max.idle.ms` the connection is closed.",
    ),
    Trouble(
        name="throttled",
        heading="A client is throttled",
        kind="throttled-client",
        advice="It is meant so; raise the [quota](quotas.md), or slow the client down.",
    ),
    Trouble(
        name="silent-member",
        heading="A group is stuck on a silent member",
        kind="silent-member",
        advice="A member with fresh heartbeats lives, and its application does not poll: it works "
        "on a batch, or hangs. Restart it, or wait until it is removed.",
    ),
    Trouble(
        name="lag",
        heading="A group falls behind in one partition",
        kind="lag",
        advice="One partition alone is a hot key or a slow member; several are too few members. "
        "The page of the group has the lag of the others, and its trend.",
    ),
    Trouble(
        name="blocked-loop",
        heading="The loop is blocked",
        kind="blocked-loop",
        advice="Code of the plugin computes, or calls something that blocks, at that line: move it "
        "to a thread. While the loop is blocked no page is answered; an open one says that the "
        "broker is silent. The finding stays for 15 minutes.",
    ),
    Trouble(
        name="fault-rule",
        heading="A fault rule delays requests",
        kind="fault-rule",
        advice="A [test of faults](faults.md) is under way: remove the rule.",
    ),
    Trouble(
        name="full-disk",
        heading="A disk is nearly full, or lost",
        kind="directory-space",
        advice="Delete records or add a disk before it is full. A write that finds no room takes "
        "the directory offline:",
    ),
    Trouble(
        name="lost-directory",
        heading="",
        kind="lost-directory",
        advice="Offline partitions stand below it. With the last directory the broker ends, and "
        "says why to pages that are open for three seconds.",
    ),
    Trouble(
        name="crash-loop",
        heading="A consumer starts again and again",
        kind="crash-loop",
        advice="Each join and each leave is a rebalance for all members: the log of that client "
        "has the reason. Members that restart one after the other, as for a new version, are no "
        "finding.",
    ),
)
_BY_NAME: Final = {trouble.name: trouble for trouble in TROUBLES}


async def tell(ui: Ui, name: str, finding: Mapping[str, Any]) -> None:
    """Hold a finding against the page, but for its numbers, or leave it for `make troubles`."""
    assert finding["kind"] == _BY_NAME[name].kind
    directory = os.environ.get(DIRECTORY)
    if directory is None:
        page = PAGE.read_text()
        assert without_numbers(quote(finding)) in without_numbers(page), "run make troubles"
        return
    target = Path(directory)
    target.mkdir(parents=True, exist_ok=True)
    landing = await ui.ask("/admin/overview")
    (target / f"{name}.html").write_text(standalone(landing.body.decode()))
    words = {"title": finding["title"], "more": finding["more"]}
    (target / f"{name}.json").write_text(json.dumps(words))


def quote(finding: Mapping[str, Any]) -> str:
    """The finding as the page has it."""
    words = f"**{finding['title']}**{finding['more']}"
    return _quoted(words.replace("<", "&lt;"))


def _quoted(words: str) -> str:
    return fill(
        words,
        _WIDTH,
        initial_indent="> ",
        subsequent_indent="> ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def without_numbers(text: str) -> str:
    """Numbers differ from run to run, and so do the lines that they fill."""
    return _NUMBER.sub("0", " ".join(line.removeprefix("> ") for line in text.splitlines()))


def quotes(page: str) -> dict[str, str]:
    """The quotes of a page, by the name of the picture that follows."""
    pattern = re.compile(
        r"((?:^> .*\n)+)\n!\[.*?\]\(\.\./images/troubles/([a-z-]+)\.png\)", re.MULTILINE
    )
    return {match[2]: match[1].rstrip("\n") for match in pattern.finditer(page)}


def page(quotes_by_name: Mapping[str, str]) -> str:
    """The whole page."""
    parts = [f"# Twelve troubles and how they look\n\n{_paragraph(_HEAD)}"]
    for trouble in TROUBLES:
        title = trouble.heading or f"Finding {trouble.kind}"
        if trouble.heading:
            parts.append(f"## {trouble.heading}\n")
        parts.append(f"{quotes_by_name[trouble.name]}\n")
        parts.append(f"![{title}: the landing page](../images/troubles/{trouble.name}.png)\n")
        advice = f"Kind `{trouble.kind}`. {trouble.advice}"
        parts.append(_paragraph(advice))
    return "\n".join(parts)


def _paragraph(words: str) -> str:
    return fill(words, _WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def standalone(html: str) -> str:
    """A page of the UI with its style and without scripts, which opens without a broker."""
    styles = "".join(
        f"<style>{file.content.decode()}</style>"
        for name, file in sorted(read_static_files().items())
        if name.endswith(".css")
    )
    bare = re.sub(r"<script[^>]*></script>|<link [^>]*>", "", html)
    return bare.replace("</head>", f"{styles}</head>")


def main(directory: Path) -> None:
    """Write the page from what the drills left in a directory."""
    quotes_by_name = {
        name: quote(json.loads((directory / f"{name}.json").read_text())) for name in _BY_NAME
    }
    PAGE.write_text(page(quotes_by_name))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
