"""Plugins use the core through its faces: the modules that a package names in `__all__`."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
OPEN = ("trio_kafka.protocol.messages", "trio_kafka.protocol.stored")  # any module
HANDLERS = ROOT / "plugins" / "trio_kafka_apis"


def modules() -> Iterator[Path]:
    for root in ("plugins", "admin_ui"):
        yield from (ROOT / root).rglob("*.py")


def imports_of(module: Path) -> Iterator[tuple[str, int]]:
    """Yield the imported modules of the core, with the lines."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("trio_kafka."):
            yield node.module or "", node.lineno


@cache
def face_of(package: str) -> frozenset[str] | None:
    """Return the public modules of a package; None: it is a module, or names none."""
    file = ROOT / package.replace(".", "/") / "__init__.py"
    if not file.exists():
        return None
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return frozenset(ast.literal_eval(node.value))
    return None


def is_public(module: str) -> bool:
    if module.startswith(OPEN):
        return True
    package, name = "trio_kafka", module.split(".")[1]
    for inner in module.split(".")[2:]:
        package, name = f"{package}.{name}", inner
        face = face_of(package)
        if face is not None and name not in face:
            return False
    return True


def test_plugins_import_only_public_modules_of_the_core() -> None:
    inner = [
        f"{module.relative_to(ROOT)}:{line} imports {name}"
        for module in modules()
        for name, line in imports_of(module)
        if not is_public(name)
    ]

    assert not inner


def test_api_handlers_import_neither_steps_nor_the_plugin_api() -> None:
    for module in HANDLERS.glob("k*.py"):
        names = {
            alias.name
            for node in ast.walk(ast.parse(module.read_text()))
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        assert "Steps" not in names, module.name
        assert "trio_kafka.plugin" not in {name for name, _ in imports_of(module)}, module.name
