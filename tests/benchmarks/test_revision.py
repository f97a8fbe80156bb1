import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.benchmarks.revision import RevisionError, commit_of, export, make_environment
from tests.project.tree import ROOT


def git(repository: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    command = ["git", *identity, *arguments]
    result = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True)
    return result.stdout.strip()


def wait_until(condition: Callable[[], bool], within_s: float = 20.0) -> None:
    """Poll, as other processes give no notice."""
    end = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    """Return whether a process exists and has not ended; nothing reaps orphans in a container."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository of two commits; the first one is tagged `old`."""
    repository = tmp_path / "repository"
    repository.mkdir()
    git(repository, "init", "--quiet")
    for text, tag in (("1", "old"), ("2", "new")):
        (repository / "file").write_text(text)
        git(repository, "add", "file")
        git(repository, "commit", "--quiet", "--message", text)
        git(repository, "tag", tag)
    return repository


def test_revision_is_resolved_to_its_commit(repository: Path) -> None:
    commit = git(repository, "rev-parse", "old")

    assert commit_of(repository, "old") == commit_of(repository, commit[:8]) == commit


@pytest.mark.parametrize("revision", ["absent", "", "--all", "old..new"])
def test_unknown_revision_is_refused_in_one_line_that_names_it(
    revision: str, repository: Path
) -> None:
    with pytest.raises(RevisionError) as raised:
        commit_of(repository, revision)

    assert str(raised.value) == (
        f"no commit is named {revision!r}: want a commit, branch or tag of this repository"
    )


def test_export_has_the_files_of_the_commit_and_changes_nothing_else(
    repository: Path, tmp_path: Path
) -> None:
    commit = commit_of(repository, "old")

    checkout = export(repository, commit, tmp_path / "bench")

    assert (checkout / "file").read_text() == "1"
    assert list((tmp_path / "bench").iterdir()) == [checkout]
    assert git(repository, "status", "--porcelain") == ""
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_existing_export_is_used_again(repository: Path, tmp_path: Path) -> None:
    commit = commit_of(repository, "old")
    (export(repository, commit, tmp_path) / "environment").write_text("kept")

    assert (export(repository, commit, tmp_path) / "environment").read_text() == "kept"


def test_failed_export_leaves_no_directory(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        export(repository, "0" * 40, tmp_path / "bench")

    assert list((tmp_path / "bench").iterdir()) == []


def test_failed_environment_is_reported_with_the_last_output(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text(".venv/test.stamp:\n\t@echo no lock; false\n")

    with pytest.raises(RevisionError, match=r"make \.venv/test\.stamp failed.*\n.*lock"):
        make_environment(tmp_path)


def test_environment_is_made_without_the_variables_of_an_outer_make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAKEFLAGS", "n -- BASE=x")  # n: make would only print what it does
    (tmp_path / "Makefile").write_text(".venv/test.stamp:\n\ttest '$(BASE)' = '' && touch made\n")

    make_environment(tmp_path)

    assert (tmp_path / "made").exists()


@pytest.mark.slow
def test_interrupted_environment_leaves_neither_processes_nor_files(tmp_path: Path) -> None:
    script = "sleep 60 & echo $$! > new; mv new pid; wait"
    (tmp_path / "Makefile").write_text(f".venv/test.stamp:\n\tmkdir .venv\n\tsh -c '{script}'\n")
    program = (
        "import sys; from pathlib import Path\n"
        "from tests.benchmarks.brokers import unwind_on_sigterm\n"
        "from tests.benchmarks.revision import make_environment\n"
        "unwind_on_sigterm(); make_environment(Path(sys.argv[1]))"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], cwd=ROOT) as process:
        wait_until((tmp_path / "pid").exists)
        process.terminate()

    grandchild = int((tmp_path / "pid").read_text())
    wait_until(lambda: not is_running(grandchild))
    assert process.returncode == 128 + signal.SIGTERM
    assert not (tmp_path / ".venv").exists()


def test_directory_of_exports_is_ignored_by_git() -> None:
    subprocess.run(["git", "check-ignore", "--quiet", "build/bench"], cwd=ROOT, check=True)
