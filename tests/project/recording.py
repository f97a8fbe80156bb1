"""Recording of the README: a test that kills its broker, as an animated SVG of ten seconds.

The output and its timing are those of a real run, the quickest of several.
`python -m tests.project.recording` writes the file anew; a test compares its words with those of a
new run.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from tests.project.tree import ROOT
from trio_kafka.attributes import frozen

PICTURE: Final = ROOT / "docs" / "images" / "kill.svg"
LENGTH_S: Final = 10.0
TEST: Final = """\
from confluent_kafka import Producer


def test_orders_survive_a_kill(kafka):
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    producer.produce("orders", b"tea")
    producer.flush()

    kafka.kill()  # as kill -9 does
    kafka.start()

    producer.produce("orders", b"milk")
    producer.flush()
    assert [order.text for order in kafka.records("orders")] == ["tea", "milk"]
"""
_RUNS: Final = 5
_COMMAND: Final = ("pytest", "-v")
_TYPED_S: Final = 0.06  # seconds for a character of a command
_LINE_S: Final = 0.22  # seconds for a line of the file
_WIDTH, _LINE, _LEFT_EDGE, _TOP = 820, 19, 18, 30
_HEAD: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<title>{label}</title>
<style>
text {{
  font: 13.5px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
  fill: #d8dee9; white-space: pre;
}}
.command {{ fill: #ffffff; font-weight: 600 }}
.passed {{ fill: #8fd18b }}
.kill {{ fill: #f0a08a }}
</style>
<rect width="{width}" height="{height}" rx="8" fill="#1d2330"/>
"""
LABEL: Final = (
    "Terminal: a test produces a record, kills its broker, starts it again, produces another one,"
    " and reads both; pytest passes"
)


@frozen(kw_only=True)
class Line:
    """Line of the terminal. at_s: when it appears."""

    text: str
    at_s: float
    kind: str = ""


def run(directory: Path) -> list[tuple[float, str]]:
    """Run the test; return the lines that pytest prints, with seconds since its start."""
    (directory / "test_orders.py").write_text(TEST)
    options = ("-p", "no:randomly", "-p", "no:asyncio", "-p", "no:cacheprovider", "-p", "no:xdist")
    began = time.monotonic()
    lines: list[tuple[float, str]] = []
    with subprocess.Popen(
        [sys.executable, "-u", "-m", *_COMMAND, *options, "--color=no"],
        cwd=directory,
        env={k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        lines.extend((time.monotonic() - began, text.rstrip("\n")) for text in process.stdout or ())
    if process.returncode:
        raise AssertionError("\n".join(text for _, text in lines))
    return lines


def shown(printed: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """Return the lines that the picture has: without the list of plugins and of directories."""
    return [
        (at_s, re.sub(r"=+ (.*?) =+", r"== \1 ==", text))
        for at_s, text in printed
        if re.search(r"::|passed|failed", text)
    ]


def lines_of(printed: Sequence[tuple[float, str]]) -> list[Line]:
    """Return all lines of the terminal, with the moments at which they appear."""
    lines = [Line(text="$ cat test_orders.py", at_s=0.3, kind="command")]
    at_s = 0.3 + len("cat test_orders.py") * _TYPED_S
    for text in TEST.splitlines():
        kind = "kill" if "kafka.kill" in text or "kafka.start" in text else ""
        lines.append(Line(text=text, at_s=at_s, kind=kind))
        at_s += _LINE_S
    lines.append(Line(text="", at_s=at_s))
    at_s += 0.6
    lines.append(Line(text=f"$ {' '.join(_COMMAND)}", at_s=at_s, kind="command"))
    at_s += len(" ".join(_COMMAND)) * _TYPED_S
    for later_s, text in shown(printed):
        lines.append(Line(text=text, at_s=min(at_s + later_s, LENGTH_S - 2), kind="passed"))
    return lines


def drawn(lines: Sequence[Line]) -> Iterator[str]:
    """Yield the SVG. Without animations every line is there."""
    height = _TOP + _LINE * len(lines)
    yield _HEAD.format(width=_WIDTH, height=height, label=escape(LABEL))
    for number, line in enumerate(lines):
        if not line.text:
            continue
        kind = f' class="{line.kind}"' if line.kind else ""
        begin = line.at_s / LENGTH_S
        yield (
            f'<text x="{_LEFT_EDGE}" y="{_TOP + _LINE * number}"{kind} xml:space="preserve">'
            f"{escape(line.text)}"
            '<animate attributeName="opacity" calcMode="discrete" values="0;1"'
            f' keyTimes="0;{begin:.3f}"'
            f' dur="{LENGTH_S:g}s" repeatCount="indefinite"/></text>\n'
        )
    yield "</svg>\n"


def words_of(picture: str) -> list[str]:
    """Return the lines of a picture, without the figures that differ from run to run."""
    lines = re.findall(r"<text [^>]*>([^<]*)<", picture)
    return [re.sub(r"\d+(\.\d+)?s\b", "s", line) for line in lines]


def recorded() -> str:
    """Record the quickest of some new runs: this machine may be busy with other things."""
    runs = []
    for _ in range(_RUNS):
        with tempfile.TemporaryDirectory() as directory:
            runs.append(run(Path(directory)))
    return "".join(drawn(lines_of(min(runs, key=lambda printed: printed[-1][0]))))


if __name__ == "__main__":
    PICTURE.write_text(recorded())
