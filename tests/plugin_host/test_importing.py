import builtins
import gc
import importlib
import linecache
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from trio_kafka.plugin_host.importing import import_generation, private_name

# What others keep of a class: typing's caches, attrs' sources.
KEPT = """
from collections.abc import Callable, Mapping
from typing import ClassVar, Final, Optional, Union
from attrs import define

@define
class Thing:
    word: str = "old"

THINGS: Final[Mapping[str, Thing]] = {}
MADE: ClassVar[Callable[[], Thing]] = Thing
MAYBE = Optional[Thing], Union[Thing, int]
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """`gen` with two modules, which import one another in every way."""
    monkeypatch.syspath_prepend(str(tmp_path))
    place = tmp_path / "gen"
    place.mkdir()
    (place / "__init__.py").write_text("import gen.one\nfrom gen.one import Thing\n")
    (place / "one.py").write_text("class Thing:\n    word = 'old'\n")
    (place / "two.py").write_text(
        "import json\n"
        "import gen.one as absolute\n"
        "from gen import Thing as through_top\n"
        "from . import one as relative\n"
        "from .one import Thing as near\n"
        "def late():\n"
        "    import gen.one\n"
        "    from gen.one import Thing\n"
        "    return gen.one, Thing\n"
    )
    yield place
    for name in [name for name in sys.modules if name.partition(".")[0] == "gen"]:
        del sys.modules[name]


def test_every_import_of_the_own_package_gives_modules_of_the_same_generation(
    package: Path,
) -> None:
    module, imported = import_generation("gen.two")
    module_one = sys.modules[f"{imported.top}.one"]

    assert module.absolute is module.relative is module_one
    assert module.near is module.through_top is module_one.Thing
    assert module.late() == (module_one, module_one.Thing)
    assert module.json is importlib.import_module("json")
    assert "gen" not in sys.modules
    imported.release()


def test_two_generations_and_the_public_package_are_independent(package: Path) -> None:
    public = importlib.import_module("gen.one")
    first, of_first = import_generation("gen.two")
    (package / "one.py").write_text("class Thing:\n    word = 'new'\n")
    second, of_second = import_generation("gen.two", afresh=True)

    words = [module.Thing.word for module in (public, first.absolute, second.absolute)]

    assert words == ["old", "old", "new"]
    assert first.late()[1].word == "old"
    assert of_first.owns("gen@x.one") is False
    assert of_first.owns(first.__name__)
    assert not of_first.owns(second.__name__)
    of_first.release()
    of_second.release()


def test_a_released_generation_is_removed_from_sys_modules_and_collected(package: Path) -> None:
    (package / "one.py").write_text(KEPT)
    module, imported = import_generation("gen.two")
    imported.users = 2
    refs = [weakref.ref(module), weakref.ref(module.absolute.Thing)]
    top = imported.top

    imported.release()
    assert top in sys.modules
    imported.release()
    del module
    gc.collect()

    assert [name for name in sys.modules if name.startswith(top)] == []
    assert [ref() for ref in refs] == [None, None]
    assert [file for file in linecache.cache if top in file] == []


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("gen.three", "1 / 0\n", ZeroDivisionError),
        ("gen.three", "import gen.nothing\n", ModuleNotFoundError),
        ("gen.nothing", "", ModuleNotFoundError),
        ("nowhere", "", ModuleNotFoundError),
        ("nowhere.at_all", "", ModuleNotFoundError),
    ],
)
def test_a_failed_import_leaves_no_modules(
    package: Path, name: str, text: str, error: type[Exception]
) -> None:
    (package / "three.py").write_text(text)

    with pytest.raises(error):
        import_generation(name)

    assert [module for module in sys.modules if module.startswith(("gen@", "nowhere@"))] == []


def test_a_traceback_shows_the_source_of_a_generation_module(package: Path) -> None:
    (package / "three.py").write_text("def fail():\n    raise ValueError('here')\n")
    module, imported = import_generation("gen.three")

    import traceback

    try:
        module.fail()
    except ValueError as error:
        text = "".join(traceback.format_exception(error))
    assert "raise ValueError('here')" in text
    imported.release()


def test_modules_of_a_generation_have_the_usual_builtins(package: Path) -> None:
    module, imported = import_generation("gen.two")

    assert module.__builtins__ in (builtins, vars(builtins))
    assert module.__builtins__ == importlib.import_module("json").__builtins__
    imported.release()


def test_bytecode_of_generations_and_of_public_modules_is_kept_apart(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (package / "three.py").write_text("from gen.one import Thing\n")
    first, of_first = import_generation("gen.three")
    files = {path.name.split(".", 1)[1] for path in (package / "__pycache__").iterdir()}
    public = importlib.import_module("gen.three")
    second, of_second = import_generation("gen.three")

    tag = sys.implementation.cache_tag
    assert files == {f"{tag}.generation.pyc"}
    assert (package / "__pycache__" / f"three.{tag}.pyc").is_file()
    assert public.Thing is importlib.import_module("gen.one").Thing
    things = {first.Thing, second.Thing, public.Thing}
    assert len(things) == 3
    of_first.release()
    of_second.release()


def test_code_is_shared_by_generations_until_its_file_changes(package: Path) -> None:
    first, of_first = import_generation("gen.two")
    second, of_second = import_generation("gen.two")
    (package / "two.py").write_text("def late():\n    return 'changed'\n")
    third, of_third = import_generation("gen.two")

    assert first.late.__code__ is second.late.__code__
    assert first.late() != second.late()
    assert third.late() == "changed"
    for imported in (of_first, of_second, of_third):
        imported.release()


def test_a_private_module_name_has_no_dots() -> None:
    assert private_name("a", 3) == "a@3"
    assert private_name("name.space", 3) == "name:space@3"


def test_a_package_in_a_namespace_is_imported_without_the_namespace(package: Path) -> None:
    (package / "__init__.py").unlink()  # a namespace now
    (package / "two.py").write_text("import gen.one\nfrom gen.one import Thing\n")

    module, imported = import_generation("gen.one")
    other, of_other = import_generation("gen.two")

    assert (module.__name__, module.Thing.word) == (imported.top, "old")
    assert other.Thing is importlib.import_module("gen.one").Thing  # a package of its own
    imported.release()
    of_other.release()
