"""Names of values in the source say what a thing is, not what happened to it.

A package is listed once it is clean, and stays so. In the end all are.
"""

import ast
import re
from collections.abc import Iterator

from tests.project.tree import ROOT, tracked_files

# Say which thing it is: batch, log, row, entry, position, message, setting, remaining.
WORDS = frozenset(
    [
        "asked",
        "found",
        "given",
        "heard",
        "it",
        "known",
        "left",
        "made",
        "one",
        "that",
        "this",
        "told",
        "wanted",
        "what",
    ]
)
# Folders and modules. Append yours.
CLEAN = (
    "trio_kafka/introspect",
    "trio_kafka/broker",
    "trio_kafka/cli",
    "trio_kafka/clients",
    "trio_kafka/config",
    "trio_kafka/controller",
    "trio_kafka/coordinators",
    "trio_kafka/controls",
    "trio_kafka/metadata",
    "trio_kafka/network",
    "trio_kafka/peers",
    "trio_kafka/plugin_host",
    "trio_kafka/protocol",
    "trio_kafka/quotas",
    "trio_kafka/raft",
    "trio_kafka/replication",
    "trio_kafka/requests",
    "trio_kafka/security",
    "trio_kafka/testing",
    "trio_kafka/wire",
    "trio_kafka/purgatory.py",
    "trio_kafka/pending.py",
    "trio_kafka/plugin.py",
    "trio_kafka/__main__.py",
    "plugins/trio_kafka_spark",
    "plugins/trio_kafka_builtin",
    "plugins/trio_kafka_http",
    "plugins/trio_kafka_metrics",
    "plugins/trio_kafka_apis",
    "admin_ui",
    "examples",
    "trio_kafka/log",
    "trio_kafka/records",
    "trio_kafka/scheduling",
    "trio_kafka/world",
    "trio_kafka/__init__.py",
    "trio_kafka/attributes.py",
    "trio_kafka/errors.py",
    "trio_kafka/held.py",
    "trio_kafka/install_hint.py",
    "trio_kafka/model.py",
    "trio_kafka/periodic_jobs.py",
    "trio_kafka/rare_collections.py",
    "trio_kafka/strict_json.py",
    # Their tests, and helpers of other tests.
    "tests/introspect",
    "tests/protocol",
    "tests/scheduling",
    "tests/telemetry",
    "tests/wire",
    "tests/world",
    "tests/log/cleaner/kit.py",
    "tests/log/cleaner/logs.py",
    "tests/log/kit.py",
    "tests/log/managers.py",
    "tests/records/kit.py",
)

# Names in files of tests that are not listed above. Each change may only lower the count.
MOST_ELSEWHERE = 1400
ASSIGNED = re.compile(
    rf"^ *(?:{'|'.join(sorted(WORDS))})(?:: [^=\n]+)? = |\bfor (?:{'|'.join(sorted(WORDS))}) in ",
    re.MULTILINE,
)

# Arguments that users write.
PUBLIC = {("trio_kafka/testing/kafka/in_loop.py", "what")}


def names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and name of each variable, parameter and class. Attributes are not looked at."""
    fields = {
        id(field.target)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for field in node.body
        if isinstance(field, ast.AnnAssign)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            if id(node) not in fields:
                yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif (isinstance(node, ast.ExceptHandler) and node.name) or isinstance(node, ast.ClassDef):
            yield node.lineno, node.name


# What stands behind a name that is bound. A file without such a place is not parsed.
BOUND = re.compile(rf"\b_*(?:{'|'.join(sorted(WORDS))})_*\s*(?:[=:,)\]]|in\b|\n)", re.IGNORECASE)


def forbidden(source: str) -> list[tuple[int, str]]:
    """Return line and name of each forbidden name."""
    if BOUND.search(source) is None:
        return []
    return [
        (line, name)
        for line, name in names(ast.parse(source))
        if name.strip("_").lower() in WORDS and name != "LEFT"  # a side, or a reason
    ]


def is_clean(path: str) -> bool:
    return path in CLEAN or path.startswith(tuple(f"{folder}/" for folder in CLEAN))


def test_values_and_classes_of_listed_packages_have_no_forbidden_name() -> None:
    riddles = [
        f"{path}:{line}: {name}"
        for path in map(str, tracked_files())
        if path.endswith(".py") and is_clean(path)
        for line, name in forbidden((ROOT / path).read_text())
        if (path, name) not in PUBLIC
    ]

    assert riddles == []


def test_forbidden_names_become_fewer_in_tests_that_are_not_listed() -> None:
    count = sum(
        len(ASSIGNED.findall((ROOT / path).read_text()))
        for path in map(str, tracked_files())
        if path.startswith("tests/") and path.endswith(".py") and not is_clean(path)
    )

    assert count <= MOST_ELSEWHERE


def test_every_listed_path_exists() -> None:
    assert [path for path in CLEAN if not (ROOT / path).exists()] == []


def test_variables_parameters_and_classes_are_checked_and_fields_are_not() -> None:
    source = """
class _Told:
    left: int

    def method(self, wanted):
        found = [one for one in wanted if (it := one)]
        try:
            return lambda asked: found
        except ValueError as what:
            return self.known
"""

    bad = {"_Told", "wanted", "found", "one", "it", "asked", "what"}
    assert {name for _, name in forbidden(source)} == bad
