"""Import of a plugin's package under a private name: `echo_api` as `echo_api@3`.

Every generation of a plugin has its own modules. They are found where the package is, and
`sys.modules` knows them only under their private names. So old and new modules coexist, and the old
ones are freed with their generation. Absolute imports inside the package find the generation's own
modules at any time, because they are compiled as relative ones: see `own_imports`.
"""

import importlib
import linecache
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import (
    BYTECODE_SUFFIXES,
    SOURCE_SUFFIXES,
    ModuleSpec,
    PathFinder,
    SourceFileLoader,
)
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from itertools import count
from types import CodeType, ModuleType
from typing import Any, ClassVar, Final

from trio_kafka.attributes import define, frozen
from trio_kafka.plugin_host.class_caches import clear_typing_caches, find_typing_caches
from trio_kafka.plugin_host.own_imports import compile_relative

_MARK: Final = "@"
_DOT: Final = ":"  # stands for the dot in the name of a package inside a namespace package
_BYTECODE: Final = BYTECODE_SUFFIXES[0]
_NUMBERS: Final = count(1)  # shared by the process: two brokers in it share no module


def private_name(package: str, number: int) -> str:
    """Return the private name of a generation's top package: one part, even for `company.echo`."""
    return f"{package.replace('.', _DOT)}{_MARK}{number}"


@define(eq=False)
class Imported:
    """Modules of a generation. top: private name of the top package.

    users: plugins of it that have not ended.
    """

    top: str
    users: int = 1

    def release(self) -> None:
        """Remove a user. After the last one, forget the modules; they are freed once unused."""
        self.users -= 1
        if not self.users:
            _forget(self.top)

    def owns(self, module: str) -> bool:
        """Return True if a module is one of them."""
        return module == self.top or module.startswith(f"{self.top}.")


def import_generation(
    module: str, *, owner: str = "", afresh: bool = False
) -> tuple[ModuleType, Imported]:
    """Import a module, and the parts of its package that it imports, as a generation.

    owner: the plugin's name, for `owner_of`.
    afresh: compile from source, which may have changed within the one-second resolution of bytecode
    files.
    Raises ImportError, and whatever the module raises; nothing of it remains then.
    """
    package, spec = _find_package(module)
    top = private_name(package, next(_NUMBERS))
    if afresh:  # in a thread, as this takes some ms
        find_typing_caches()
    try:
        _import_top(package, spec, top, owner=owner, afresh=afresh)
        return importlib.import_module(top + module[len(package) :]), Imported(top)
    except BaseException:
        _forget(top)
        raise


def owner_of(module: str) -> str | None:
    """Return the owner of a generation's module, even during its import.

    module: its private name. May be called in any thread.
    """
    top = _FINDER.tops.get(module.partition(".")[0])
    return top.owner or None if top is not None else None


def _forget(top: str) -> None:
    # Other threads may import meanwhile: the list is created atomically.
    for name in [name for name in list(sys.modules) if name == top or name.startswith(f"{top}.")]:
        del sys.modules[name]
    _FINDER.tops.pop(top, None)
    for file in [file for file in list(linecache.cache) if f"{top}." in file]:
        linecache.cache.pop(file, None)  # attrs' generated methods
    clear_typing_caches()


def _find_package(module: str) -> tuple[str, ModuleSpec]:
    """Return the first regular package in a dotted name, and its spec."""
    importlib.invalidate_caches()
    parts = module.split(".")
    for length in range(1, len(parts) + 1):
        name = ".".join(parts[:length])
        spec = find_spec(name)
        if spec is None:
            break
        if spec.origin is not None:
            return name, spec
    raise ModuleNotFoundError(f"found no module {module!r} that can be imported again")


def _import_top(public: str, source: ModuleSpec, private: str, *, owner: str, afresh: bool) -> None:
    _FINDER.tops[private] = _Top(public, owner, afresh)
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    spec = spec_from_file_location(
        private,
        source.origin,
        loader=_loader_of(private, source.origin),
        submodule_search_locations=source.submodule_search_locations,
    )
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"module {public!r} has no source")
    module = sys.modules[private] = module_from_spec(spec)
    spec.loader.exec_module(module)


class _GenerationLoader(SourceFileLoader):
    """Loader of a generation's module: imports of its own package are relative.

    The bytecode has files of its own, beside those of the public modules. The code is also kept in
    memory for later generations: a test may start many brokers where no file can be written.
    """

    _codes: ClassVar[dict[str, tuple[object, CodeType]]] = {}  # by path, with its time and size

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code; compile it if the source may be newer than a bytecode file shows."""
        path = self.get_filename(fullname)
        stamp = self.path_stats(path)
        if _FINDER.top_of(fullname).afresh:
            code: CodeType | None = self.source_to_code(self.get_data(path), path)
        else:
            kept_for, kept = self._codes.get(path, (None, None))
            code = kept if kept_for == stamp else super().get_code(fullname)
        if code is not None:
            self._codes[path] = stamp, code
        return code

    def source_to_code(  # type: ignore[override]  # the stubs call it static
        self, data: Any, path: Any, *, _optimize: int = -1
    ) -> CodeType:
        """Compile source. A hook of importlib, for files whose syntax is not plain Python."""
        package, _, _ = self.name.rpartition(".")
        return compile_relative(
            data,
            path,
            package=_FINDER.top_of(self.name).public,
            module_package=self.name if self.is_package(self.name) else package,
            optimize=_optimize,
        )

    def get_data(self, path: str) -> bytes:
        """Return the content of a source or bytecode file."""
        return super().get_data(_own_bytecode(path))

    def set_data(self, path: str, data: Any, **mode: Any) -> None:
        """Write a bytecode file."""
        super().set_data(_own_bytecode(path), data, **mode)


def _loader_of(name: str, origin: str | None) -> _GenerationLoader | None:
    """Return the loader of a module with source; None for others, such as extension modules."""
    if origin is None or not origin.endswith(tuple(SOURCE_SUFFIXES)):
        return None
    return _GenerationLoader(name, origin)


def _own_bytecode(path: str) -> str:
    """Return the bytecode file of a generation's module for that of the public one."""
    stem = path.removesuffix(_BYTECODE)
    return path if stem == path else f"{stem}.generation{_BYTECODE}"


@frozen
class _Top:
    """State of a generation's top package: its public name, owner, may bytecode be used?"""

    public: str
    owner: str
    afresh: bool


class _Finder(MetaPathFinder):
    """Finder of the modules below a generation's top package."""

    def __init__(self) -> None:
        self.tops: dict[str, _Top] = {}

    def top_of(self, module: str) -> _Top:
        """Return the state of a module's generation, by its private name."""
        return self.tops[module.partition(".")[0]]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if path is None or fullname.partition(".")[0] not in self.tops:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None:
            spec.loader = _loader_of(fullname, spec.origin) or spec.loader
        return spec


_FINDER: Final = _Finder()
