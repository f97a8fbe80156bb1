"""Another revision of this repository, exported with an environment of its own.

An export is a directory without `.git`, named by its commit, and is kept for the next run. It gets
its name when it is complete: an interrupted export is discarded. Its environment is what the
revision's own Makefile makes of its own locks; an interrupted one is discarded, too.
"""

import os
import shutil
import signal
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from trio_kafka.testing.processes import child_process

TARGET: Final = ".venv/test.stamp"
_SHOWN: Final = 12  # digits of a commit, in the name of its directory
_LAST_LINES: Final = 20


class RevisionError(Exception):
    """No such revision, or one without a working environment; the text is for the user."""


def commit_of(repository: Path, revision: str) -> str:
    """Return the commit of a branch, tag or abbreviated commit. Raises RevisionError."""
    command = ["git", "rev-parse", "--verify", "--quiet", "--end-of-options"]
    result = subprocess.run(
        [*command, f"{revision}^{{commit}}"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        raise RevisionError(
            f"no commit is named {revision!r}: want a commit, branch or tag of this repository"
        )
    return result.stdout.strip()


def export(repository: Path, commit: str, directory: Path) -> Path:
    """Return the files of a commit in a directory below `directory`; they may be there already."""
    checkout = directory / commit[:_SHOWN]
    if checkout.exists():
        return checkout
    directory.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="export-", dir=directory) as unfinished:
        files, archive = Path(unfinished, "files"), Path(unfinished, "files.tar")
        # Not a worktree of git: that would leave an entry in the repository of an interrupted run.
        subprocess.run(
            ["git", "archive", "--format=tar", f"--output={archive}", commit],
            cwd=repository,
            check=True,
        )
        with tarfile.open(archive) as tar:
            tar.extractall(files, filter="data")
        files.rename(checkout)
    return checkout


def make_environment(checkout: Path) -> None:
    """Make the checkout's `.venv` by its own Makefile, unless it is there. Raises RevisionError.

    The interpreter is this one's, so that a comparison is one of the code.
    """
    python = Path(getattr(sys, "_base_executable", sys.executable))
    # The variables of a make that runs this program are not for this one.
    make = ["env", "-u", "MAKEFLAGS", "-u", "MAKEOVERRIDES", "make", f"PYTHON={python}", TARGET]
    log = checkout / "environment.log"
    with child_process(make, log) as process:
        try:
            status = process.wait()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)  # make passes a signal on to its children only
            shutil.rmtree(checkout / ".venv", ignore_errors=True)
            raise
    if status:
        last = log.read_text(errors="replace").splitlines()[-_LAST_LINES:]
        failure = f"make {TARGET} failed in {os.path.relpath(checkout)}:"
        raise RevisionError("\n".join([failure, *last]))
