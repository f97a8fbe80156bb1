"""Shell blocks of the documentation, run as they stand, in a network of their own.

A page's blocks run in one shell, in a new directory. The shell has a network namespace with a
loopback and nothing else, so every port that a page names is free, whatever else this machine runs.
A command that serves in the foreground, for which a page asks for another terminal, runs in the
background.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.project.tree import ROOT
from trio_kafka.attributes import frozen

_FENCE = re.compile(r"^( *)```(\w*)([^\n]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_SERVES = re.compile(r"^trio-kafka start\b(?!.*&$)", re.MULTILINE)
_MARK = "=== block "
# Its log says when it serves; then it prints nothing more that a page shows.
_IN_BACKGROUND = """{command} > served.log 2>&1 &
until grep -q "broker started" served.log || ! kill -0 $!; do sleep 0.05; done
grep -q "broker started" served.log || {{ cat served.log >&2; exit 1; }}
"""


@frozen(kw_only=True)
class Block:
    """Fenced block of a page. words: the rest of its first line, such as `notrun`."""

    language: str
    words: str
    text: str


def blocks(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page, without the indentation of a list."""
    for indent, language, words, text in _FENCE.findall(page.read_text()):
        plain = re.sub(rf"^{indent}", "", text, flags=re.MULTILINE)
        yield Block(language=language, words=words.strip(), text=plain)


def shell_blocks(page: Path) -> list[str]:
    """Return the shell blocks of a page that run as they stand."""
    return [
        block.text for block in blocks(page) if block.language == "sh" and block.words != "notrun"
    ]


def can_isolate() -> bool:
    """Return whether this machine lets a test have a network of its own."""
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        return False
    done = subprocess.run([*_isolated(), "true"], capture_output=True, check=False)
    return done.returncode == 0


def run_page(
    page: Path,
    directory: Path,
    *,
    before: str = "",
    replaced: Mapping[str, str] | None = None,
    path: str = "",
) -> list[str]:
    """Run the shell blocks of a page; return what each printed to standard output.

    before: commands that make what the page takes for granted. replaced: lines for which the
    environment of the tests stands, by their beginning, with what runs instead.
    path: for PYTHONPATH. Raises AssertionError, with the output, if a command fails.
    """
    return run_blocks(shell_blocks(page), directory, before=before, replaced=replaced, path=path)


def run_blocks(
    texts: list[str],
    directory: Path,
    *,
    before: str = "",
    replaced: Mapping[str, str] | None = None,
    path: str = "",
    timeout_s: float = 120,
) -> list[str]:
    """Run shell blocks as `run_page` does."""
    parts = ["set -e", "trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT", _served(before)]
    for number, text in enumerate(texts):
        parts += [f"echo; echo '{_MARK}{number}'", _served(_with(text, replaced or {}))]
    script = directory / "page.sh"
    script.write_text("\n".join(parts))
    programs = Path(sys.executable).parent
    environment = {
        **{name: text for name, text in os.environ.items() if not name.startswith("MAKE")},
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": f"{path}:{ROOT}:{ROOT / 'plugins'}:{ROOT / 'admin_ui'}",
    }
    done = subprocess.run(
        [*_isolated(), "bash", script.name],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    _, *printed = re.split(rf"^{_MARK}\d+\n", done.stdout, flags=re.MULTILINE)
    return [text.rstrip("\n") + "\n" for text in printed]


def _isolated() -> list[str]:
    """Command before another one, which runs in a network of its own."""
    own = ["unshare", "--user", "--map-root-user", "--net", "--"]
    return [*own, "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


def _with(text: str, replaced: Mapping[str, str]) -> str:
    lines = []
    for line in text.splitlines():
        instead = [replacement for begin, replacement in replaced.items() if line.startswith(begin)]
        lines.append(instead[0] if instead else line)
    return "\n".join(lines)


def _served(text: str) -> str:
    """Put what serves in the foreground into the background, and wait until it serves."""
    lines = [
        _IN_BACKGROUND.format(command=line) if _SERVES.match(line) else line
        for line in text.splitlines()
    ]
    return "\n".join(lines)


def quoted(*words: str) -> str:
    """Return words as a command line."""
    return shlex.join(words)
