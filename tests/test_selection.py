"""Test files that a change of source files chooses."""

import subprocess
from pathlib import Path

import pytest

from tests import selection
from tests.selection import SMOKE, Tree, changed_files, choose, module_name, report

FILES = {
    "trio_kafka/low.py": "",
    "trio_kafka/log/log.py": "from trio_kafka import low\n",
    "trio_kafka/log/index.py": "",
    "trio_kafka/cli/start.py": "PLACE = 'trio_kafka.log.log:open'\n",
    "plugins/trio_kafka_apis/k01_fetch.py": "import trio_kafka.log.log\n",
    "tests/test_low.py": "",
    "tests/log/test_log.py": "import trio_kafka.log.log\n",
    "tests/log/test_index.py": "",
    "tests/log/kit.py": "import trio_kafka.log.index\n",
    "tests/log/conftest.py": "",
    "tests/raft/test_core.py": "from tests.log.kit import some\n",
    "tests/cli/test_start.py": "",
    "tests/cli/test_embedded.py": "",
    "tests/apis/test_k01_fetch.py": "def test():\n    import trio_kafka.low\n",
    "tests/e2e/test_all.py": "import trio_kafka.log.log\n",
    "tests/config/test_page.py": "PAGE = 'configuration.md'\n",
    "tests/config/data/rows.bin": "",
    "tests/project/test_tree.py": "import trio_kafka.log.log\n",
    "docs/configuration.md": "",
}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    for name, text in FILES.items():
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return Tree(tmp_path, list(FILES))


def chosen(tree: Tree, *changed: str) -> dict[str, int]:
    """Ranks by test file, without the start of a broker."""
    return {choice.path: choice.rank for choice in choose(tree, changed) if choice.path != SMOKE}


def test_changed_module_ranks_its_tests_before_those_of_importers_and_of_its_package(tree) -> None:
    assert chosen(tree, "trio_kafka/log/log.py") == {
        "tests/log/test_log.py": 0,
        "tests/apis/test_k01_fetch.py": 2,
        "tests/cli/test_start.py": 2,  # by the name of the module in a text
        "tests/log/test_index.py": 3,
    }


def test_import_within_a_function_counts_as_an_import_of_the_module(tree) -> None:
    assert chosen(tree, "trio_kafka/low.py")["tests/apis/test_k01_fetch.py"] == 1


def test_test_that_imports_a_module_through_a_helper_is_chosen(tree) -> None:
    assert chosen(tree, "trio_kafka/log/index.py")["tests/raft/test_core.py"] == 1
    assert chosen(tree, "tests/log/kit.py") == {"tests/raft/test_core.py": 1}


def test_end_to_end_tests_are_left_out_unless_changed(tree) -> None:
    assert "tests/e2e/test_all.py" not in chosen(tree, "trio_kafka/log/log.py")
    assert chosen(tree, "tests/e2e/test_all.py") == {"tests/e2e/test_all.py": 0}


def test_changed_conftest_chooses_the_tests_of_its_folder(tree) -> None:
    assert chosen(tree, "tests/log/conftest.py").keys() == {
        "tests/log/test_log.py",
        "tests/log/test_index.py",
    }


def test_changed_document_chooses_tests_that_name_its_path_and_data_the_tests_of_its_folder(
    tree,
) -> None:
    assert chosen(tree, "docs/configuration.md") == {"tests/config/test_page.py": 1}
    assert chosen(tree, "tests/config/data/rows.bin") == {"tests/config/test_page.py": 3}


def test_test_that_starts_a_broker_is_chosen_for_a_module_and_not_for_a_document(tree) -> None:
    assert SMOKE in [choice.path for choice in choose(tree, ["trio_kafka/low.py"])]
    assert SMOKE not in [choice.path for choice in choose(tree, ["docs/configuration.md"])]


def test_deleted_module_chooses_the_tests_of_its_package(tree) -> None:
    assert chosen(tree, "trio_kafka/log/gone.py").keys() == {
        "tests/log/test_log.py",
        "tests/log/test_index.py",
    }


def test_modules_have_the_names_by_which_they_are_imported() -> None:
    assert module_name("plugins/trio_kafka_apis/k01_fetch.py") == "trio_kafka_apis.k01_fetch"
    assert module_name("trio_kafka/cli/__init__.py") == "trio_kafka.cli"
    assert module_name("tests/log/kit.py") == "tests.log.kit"


def test_report_gives_the_reason_of_each_file_and_the_number_left_out(tree) -> None:
    lines = list(report(["trio_kafka/low.py"], choose(tree, ["trio_kafka/low.py"]), 7, "main"))

    assert lines[0].startswith("1 files differ from main; ")
    assert "  tests/test_low.py: tests trio_kafka.low" in lines
    assert lines[-1].startswith("left out: 7 test files")


@pytest.mark.slow
def test_changed_files_include_new_deleted_and_committed_files(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@b.test"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-b", "main")
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).write_text("1\n")
    git("add", ".")
    git("commit", "-m", "one")
    git("checkout", "-b", "other")
    (tmp_path / "a.py").write_text("2\n")
    git("commit", "-am", "two")
    (tmp_path / "b.py").unlink()
    (tmp_path / "new.py").write_text("3\n")

    assert changed_files(tmp_path, None) == ["b.py", "new.py"]
    assert changed_files(tmp_path, "main") == ["a.py", "b.py", "new.py"]


@pytest.mark.slow
@pytest.mark.timeout(180)  # reads every file of the repository
def test_change_of_one_file_chooses_few_test_files_of_the_repository() -> None:
    """All cases in one test: each process that runs one parses the whole repository."""
    expected = {
        "trio_kafka/quotas/rate.py": "tests/quotas/test_rate.py",
        "plugins/trio_kafka_apis/k00_produce.py": "tests/apis/test_k00_produce.py",
        "docs/how-to/configure.md": None,
        "admin_ui/trio_kafka_admin/app.py": "tests/trio_kafka_admin/test_app.py",
    }
    for changed, test in expected.items():
        paths = [choice.path for choice in choose(selection.repository(), [changed])]

        assert test is None or test in paths, changed
        assert len(paths) < 200, changed


def test_no_tests_run_if_no_file_has_changed(monkeypatch, capsys) -> None:
    monkeypatch.setattr(selection, "changed_files", lambda *_: [])

    assert selection.main([]) == 0
    assert capsys.readouterr().out.startswith("nothing differs from HEAD")


def test_number_of_chosen_files_is_limited(tree, monkeypatch, capsys) -> None:
    monkeypatch.setattr(selection, "repository", lambda: tree)
    monkeypatch.setattr(selection, "changed_files", lambda *_: ["trio_kafka/log/log.py"])
    monkeypatch.setattr(selection, "MOST_FILES", 3)

    assert selection.main(["--list"]) == 0

    head, *lines = capsys.readouterr().out.splitlines()
    assert head == "1 files differ from HEAD; 3 test files:"
    assert lines[0] == "  tests/cli/test_embedded.py: starts a broker as a process"
    assert lines[1] == "  tests/log/test_log.py: tests trio_kafka.log.log"
    assert lines[-1].startswith("left out: ")
