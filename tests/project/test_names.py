"""Names of values, in the source and in tests, say what a thing is, not what happened to it."""

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


def test_no_value_or_class_has_a_forbidden_name() -> None:
    riddles = [
        f"{path}:{line}: {name}"
        for path in map(str, tracked_files())
        if path.endswith(".py")
        for line, name in forbidden((ROOT / path).read_text())
        if (path, name) not in PUBLIC
    ]

    assert riddles == []


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
