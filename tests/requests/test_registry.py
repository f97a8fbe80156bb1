"""Handlers are found; two for one key are an error that names both."""

import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

import pytest

from trio_kafka.requests import registry as module
from trio_kafka.requests.api import api, api_of
from trio_kafka.requests.registry import (
    DuplicateApiError,
    InstalledApiError,
    Registry,
    StaleListingError,
    installed_apis,
)
from trio_kafka.testing.sample_apis import EchoRequest, WaitRequest
from trio_kafka_apis.k18_api_versions import api_versions

HANDLER = """
from trio_kafka.plugin import api
from trio_kafka.testing.sample_apis import {message}
@api({message})
def handle(request, context): ...
"""

FAR = """
from trio_kafka.protocol.schema import request, response
from trio_kafka.plugin import api
@request(key=40000, versions='0')
class FarRequest: ...
@response(FarRequest)
class FarResponse: ...
@api(FarRequest)
def handle(request, context): ...
"""


def handler(message: type, source: str) -> ModuleType:
    @api(message)
    def handle(request: object, context: object) -> None: ...

    handle.__module__ = source
    module_type = ModuleType(source)
    module_type.handle = api(message)(handle)  # type: ignore[attr-defined]
    return module_type


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An importable package `found_here`."""
    root = tmp_path / "found_here"
    root.mkdir()
    (root / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield root  # type: ignore[misc]
    for name in [name for name in sys.modules if name.startswith("found_here")]:
        del sys.modules[name]


def test_apis_are_sorted_by_key() -> None:
    registry = Registry()
    registry.add_module(handler(WaitRequest, "one"))
    registry.add_module(handler(EchoRequest, "other"))

    assert [entry.key for entry in registry] == [10100, 10101]
    assert registry.names == {10100: "Echo", 10101: "Wait"}
    assert len(registry) == 2
    assert registry.get(3) is None


def test_two_handlers_of_one_key_are_an_error_that_names_both_modules() -> None:
    registry = Registry()
    registry.add_module(handler(EchoRequest, "plugins.first"))

    with pytest.raises(DuplicateApiError, match=r"10100 \(Echo\).*plugins.first.*plugins.second"):
        registry.add_module(handler(EchoRequest, "plugins.second"))


def test_adding_the_same_handler_twice_has_no_effect() -> None:
    registry = Registry()
    result = handler(EchoRequest, "one")
    registry.add_module(result)
    generation = registry.generation
    registry.add_module(result)

    assert registry.generation == generation == 1
    registry.remove(10100)
    assert registry.generation == 2
    with pytest.raises(KeyError):
        registry.remove(10100)


def test_cache_of_the_registry_is_cleared_by_every_change() -> None:
    registry = Registry()
    registry.cache["answer"] = b"old"
    registry.add_module(handler(EchoRequest, "one"))

    assert registry.cache == {}


def test_module_that_only_imports_a_handler_does_not_register_the_handler() -> None:
    registry = Registry()
    result = handler(EchoRequest, "where_it_is")
    other = ModuleType("elsewhere")
    other.handle = result.handle  # type: ignore[attr-defined]
    registry.add_module(other)

    assert len(registry) == 0


def test_handlers_in_nested_packages_are_found(package: Path) -> None:
    (package / "k1_echo.py").write_text(HANDLER.format(message="EchoRequest"))
    (package / "deep").mkdir()
    (package / "deep" / "__init__.py").write_text("")
    (package / "deep" / "wait.py").write_text(HANDLER.format(message="WaitRequest"))
    registry = Registry()
    registry.add_module(__import__("found_here"))

    assert [entry.source for entry in registry] == ["found_here.k1_echo", "found_here.deep.wait"]


def test_installed_apis_are_found_by_their_entry_points(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package / "k1_echo.py").write_text(HANDLER.format(message="EchoRequest"))
    points = [EntryPoint("mine", "found_here", module.GROUP)]
    monkeypatch.setattr(module, "entry_points", lambda group: points)

    assert installed_apis().names == {10100: "Echo"}

    points.append(EntryPoint("bad", "found_here.k1_echo:handle", module.GROUP))
    with pytest.raises(InstalledApiError, match=r"bad = .* of trio_kafka\.apis: .*want a module"):
        installed_apis()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import nothing_of_this_name", "ModuleNotFoundError.*nothing_of_this_name"),
        (
            HANDLER.format(message="EchoRequest").replace(")\n", ", first=2)\n", 1),
            "TypeError: EchoRequest: no version",
        ),
        (
            FAR,
            "TypeError: FarRequest: key 40000, want 0 to 32767",
        ),
    ],
)
def test_error_in_a_plugin_module_names_its_entry_point(
    package: Path, monkeypatch: pytest.MonkeyPatch, source: str, message: str
) -> None:
    (package / "wrong.py").write_text(source)
    points = [EntryPoint("mine", "found_here", module.GROUP)]
    monkeypatch.setattr(module, "entry_points", lambda group: points)

    with pytest.raises(InstalledApiError, match=f"entry point mine = found_here of .*: {message}"):
        installed_apis()


UNSTEADY = """
from trio_kafka.protocol.schema import request, response
from trio_kafka.requests.api import api

@request(key=10100, versions="0-3", unstable="2-3")
class EchoRequest: ...

@response(EchoRequest)
class EchoResponse: ...

@api(EchoRequest)
def handle(request, context): ...
"""


def listed(package: Path, *rows: tuple[object, ...]) -> Registry:
    (package / "__init__.py").write_text(f"LISTED = {rows!r}")
    (package / "echo.py").write_text(HANDLER.format(message="EchoRequest"))
    registry = Registry()
    registry.add_module(__import__("found_here"))
    return registry


def test_listed_module_is_imported_when_its_api_is_requested(package: Path) -> None:
    registry = listed(package, (10100, "Echo", 0, 1, "echo"))

    assert [(entry.key, entry.name, entry.first, entry.last) for entry in registry] == [
        (10100, "Echo", 0, 1)
    ]
    assert "found_here.echo" not in sys.modules
    generation = registry.generation

    echo_api = registry.get(10100)
    assert echo_api is not None
    assert echo_api.source == "found_here.echo"
    assert echo_api is registry.get(10100) is api_of(sys.modules["found_here.echo"].handle)
    assert registry.generation == generation


def test_unlisted_module_is_imported_at_once(package: Path) -> None:
    registry = listed(package, (10101, "Wait", 0, 0, "wait"))

    assert [entry.key for entry in registry] == [10100]
    assert "found_here.echo" in sys.modules


def test_two_handlers_of_a_listed_key_are_an_error(package: Path) -> None:
    registry = listed(package, (10100, "Echo", 0, 1, "echo"))

    with pytest.raises(DuplicateApiError, match=r"found_here\.echo and in plugins\.other"):
        registry.add_module(handler(EchoRequest, "plugins.other"))


def test_listed_module_may_be_added_again_before_and_after_its_import(package: Path) -> None:
    registry = listed(package, (10100, "Echo", 0, 1, "echo"))
    registry.add_module(sys.modules["found_here"])
    registry.get(10100)
    registry.add_module(sys.modules["found_here"])
    registry.add_module(sys.modules["found_here.echo"])

    assert registry.generation == 1


@pytest.mark.parametrize("versions", [(0, 2), (1, 1)])
def test_listing_with_other_versions_than_its_module_is_an_error(
    package: Path, versions: tuple[int, int]
) -> None:
    registry = listed(package, (10100, "Echo", *versions, "echo"))

    with pytest.raises(StaleListingError, match=r"found_here\.echo has .*want .*Echo.* as listed"):
        registry.get(10100)


def test_unstable_versions_are_served_only_by_a_registry_with_unstable(package: Path) -> None:
    registry = listed(package, (10100, "Echo", 0, 1, "echo", 3))
    (package / "echo.py").write_text(UNSTEADY)
    unstable = registry.with_unstable()

    assert [(entry.first, entry.last) for entry in registry] == [(0, 1)]
    assert [(entry.first, entry.last) for entry in unstable] == [(0, 3)]
    for apis, last in ((unstable, 3), (registry, 1), (unstable, 3)):
        echo_api = apis.get(10100)
        assert echo_api is not None
        assert echo_api.last == last
    assert unstable.unstable
    assert registry.with_unstable().get(10100) == unstable.get(10100)


def test_api_added_to_an_unstable_registry_is_not_in_the_stable_registry() -> None:
    registry = Registry()
    unstable = registry.with_unstable()
    result = handler(EchoRequest, "one")
    unstable.add_module(result)
    unstable.add_module(result)

    assert (len(registry), len(unstable), unstable.generation) == (0, 1, 1)


def test_the_built_in_apis_are_installed() -> None:
    assert installed_apis().get(18) is api_of(api_versions)
