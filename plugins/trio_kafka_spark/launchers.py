"""Scripts that start another program with fewer arguments or variables, in the user's cache.

Each environment has its own, below the name of its directory.
"""

import os
import re
import sys
from pathlib import Path


def launcher_home(program: str) -> Path:
    """Return the directory of the launchers of a program for this environment."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    prefix = re.sub(r"\W+", "-", sys.prefix).strip("-")
    return Path(cache).expanduser() / "trio-kafka" / program / prefix


def write_launcher(path: Path, text: str) -> None:
    """Write an executable script, unless it is there with this text.

    Other processes may start or write it at the same time. Raises OSError.
    """
    if path.is_file() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.write_text(text)
    fresh.chmod(0o755)
    fresh.replace(path)
