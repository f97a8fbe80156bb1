"""Own absolute imports of a package, compiled as relative ones."""

import ast
import sys
from pathlib import Path
from types import CodeType

import pytest

from trio_kafka.plugin_host.own_imports import OwnImports, compile_relative

# Every statement that may hold an import.
BLOCKS = [
    "class A:\n    {}",
    "async def late():\n    {}",
    "if True:\n    pass\nelif False:\n    {}\nelse:\n    pass",
    "for _ in ():\n    pass\nelse:\n    {}",
    "while True:\n    {}",
    "with a:\n    {}",
    "async def late():\n    async with a:\n        {}",
    "try:\n    {}\nexcept ImportError:\n    pass",
    "try:\n    pass\nexcept ImportError:\n    {}\nelse:\n    pass",
    "try:\n    pass\nexcept* ImportError:\n    {}",
    "try:\n    pass\nfinally:\n    {}",
    "match a:\n    case 1:\n        {}",
]


def relative(source: str, *, package: str = "gen", levels: int = 1) -> str:
    tree = ast.parse(source)
    OwnImports(package, levels).make_relative(tree)
    return ast.unparse(tree)


@pytest.mark.parametrize(
    ("statement", "levels", "compiled"),
    [
        ("from gen import Thing", 1, "from . import Thing"),
        ("from gen import Thing as T, other", 2, "from .. import Thing as T, other"),
        ("from gen.one import Thing", 1, "from .one import Thing"),
        ("from gen.one.two import *", 3, "from ...one.two import *"),
        ("import gen.one as word", 1, "from . import one as word"),
        ("import gen.one.two as word", 2, "from ..one import two as word"),
        ("import gen", 2, "gen = __import__('', globals(), None, (), 2)"),
        ("import gen as g", 1, "g = __import__('', globals(), None, (), 1)"),
        (
            "import gen.one",
            1,
            (
                "__import__('one', globals(), None, (), 1)\n"
                "gen = __import__('', globals(), None, (), 1)"
            ),
        ),
        ("import json, gen.one as word", 1, "import json\nfrom . import one as word"),
        (
            "def late():\n    from gen.one import Thing",
            1,
            "def late():\n    from .one import Thing",
        ),
        *[
            (block.format("from gen import a"), 1, block.format("from . import a"))
            for block in BLOCKS
        ],
    ],
)
def test_an_absolute_import_of_the_own_package_becomes_relative(
    statement: str, levels: int, compiled: str
) -> None:
    assert relative(statement, levels=levels) == compiled


@pytest.mark.parametrize(
    "statement",
    [
        "from __future__ import annotations",
        "from . import one",
        "from .one import Thing",
        "from genes import Thing",
        "import genes.gen",
        "import json as gen",
    ],
)
def test_imports_of_other_packages_stay_unchanged(statement: str) -> None:
    assert relative(statement) == statement


def test_a_package_in_a_namespace_is_matched_by_its_whole_name() -> None:
    source = "from name.space.one import a\nimport name.space.one as one\nfrom name import space"

    assert relative(source, package="name.space") == (
        "from .one import a\nfrom . import one as one\nfrom name import space"
    )
    assert relative("import name.space.one", package="name.space") == "import name.space.one"


def test_compiled_code_has_the_file_name_and_package_of_its_module(tmp_path: Path) -> None:
    code = compile_relative(
        b"# -*- coding: latin-1 -*-\nimport gen\nNAME = '\xe4'\n1 / 0\n",
        str(tmp_path / "one.py"),
        package="gen",
        module_package="gen@1.sub",
    )

    assert isinstance(code, CodeType)
    assert code.co_filename == str(tmp_path / "one.py")
    names: dict[str, object] = {"__package__": "json", "__name__": "json.x", "__spec__": None}
    with pytest.raises(ImportError, match="beyond top-level"):
        exec(code, names)
    assert sys.modules["json"]


def test_syntax_error_of_a_module_is_raised() -> None:
    with pytest.raises(SyntaxError):
        compile_relative(b"import gen.", "one.py", package="gen", module_package="gen@1")


def test_imports_of_a_module_without_a_package_stay_unchanged() -> None:
    code = compile_relative(b"import json as own", "json.py", package="json", module_package="")
    names: dict[str, object] = {}

    exec(code, names)

    assert names["own"] is sys.modules["json"]
