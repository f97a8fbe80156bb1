"""The page of docs that keeps what was measured, a section for each row: rows that are measured
again replace their section, others stay as they were.
"""

import os
import platform
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

HEAD: Final = """\
# Benchmarks

Compare this broker with Apache Kafka 4.4, row by row. Both are measured in turn on one machine;
`make bench` prints the same rows. The third column says how many times worse trio-kafka is: below 1
is better. The bounds of a figure follow it. [The status page](../status.md) summarises them.

`make bench BASE=main` compares the working tree with another revision of this repository instead:
[contributing](../../CONTRIBUTING.md) says how to read its table.

This page is generated: run `python -m tests.benchmarks --page docs/reference/benchmarks.md`.
"""
_SECTION: Final = re.compile(r"^## (\S+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def sections_of(page: str) -> dict[str, str]:
    """Text under each row's name, by that name."""
    return {name: text.strip() for name, text in _SECTION.findall(page)}


def write(page: Path, header: str, rows: Mapping[str, str], *, load: float, runs: int) -> None:
    """rows: the lines of each row's table, without its name. load: of the machine before, runs: of
    each row.
    """
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    about = (
        f"{day}, best of {runs}; {os.cpu_count()} cores, Linux {platform.release().split('-')[0]}, "
        f"Python {platform.python_version()}, load before {load:.2f}"
    )
    sections = sections_of(page.read_text()) if page.exists() else {}
    for name, lines in rows.items():
        sections[name] = f"{about}\n\n```text\n{header}\n{lines}\n```"
    text = "".join(f"\n## {name}\n\n{sections[name]}\n" for name in sorted(sections))
    page.write_text(HEAD + text)
