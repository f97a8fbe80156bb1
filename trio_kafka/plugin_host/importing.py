"""Import of a plugin's package under a private name: `echo_api` as `echo_api@3`.

Every generation of a plugin has its own modules. They are found where the package is, and
`sys.modules` knows them only under their private names. So old and new modules coexist, and the old
ones are freed with their generation. Absolute imports inside the package resolve to the
generation's own modules at any time, because `__import__` is replaced in the builtins that these
modules see. `importlib.import_module` with the public name is not replaced: it returns the public
module.
"""

import builtins
import importlib
import linecache
import sys
import typing
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder, SourceLoader
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from itertools import count
from types import ModuleType
from typing import Any, Final

from trio_kafka.attributes import define, frozen

_MARK: Final = "@"
_DOT: Final = ":"  # stands for the dot in the name of a package inside a namespace package
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
    try:
        _import_top(package, spec, top, owner, afresh=afresh)
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
    # typing caches what it made of a class, such as Final[list[Thing]], and thereby the class.
    for forget in getattr(typing, "_cleanups", ()):
        forget()


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


def _import_top(public: str, there: ModuleSpec, private: str, owner: str, *, afresh: bool) -> None:
    spec = spec_from_file_location(
        private, there.origin, submodule_search_locations=there.submodule_search_locations
    )
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"module {public!r} has no source")
    _FINDER.tops[private] = _Top(_builtins_of(public, private), owner, afresh)
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    spec.loader = _Loader(spec.loader)
    module = sys.modules[private] = module_from_spec(spec)
    spec.loader.exec_module(module)


def _builtins_of(public: str, private: str) -> Mapping[str, Any]:
    """Return Python's builtins with an `import` that finds the generation's modules."""

    def import_(
        name: str,
        globals: Any = None,  # noqa: A002 - signature of `__import__`
        locals: Any = None,  # noqa: A002
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> ModuleType:
        if not level and (name == public or name.startswith(f"{public}.")):
            name = private + name[len(public) :]
        return builtins.__import__(name, globals, locals, fromlist, level)

    return {**vars(builtins), "__import__": import_}


class _Loader(Loader):
    """Loader whose modules see the builtins of their generation."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._inner.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        top = module.__name__.partition(".")[0]
        of = _FINDER.tops[top]
        module.__dict__["__builtins__"] = of.builtins
        if of.afresh and isinstance(self._inner, SourceLoader):
            path = self._inner.get_filename(module.__name__)
            code = self._inner.source_to_code(self._inner.get_data(path), path)
            exec(code, module.__dict__)  # noqa: S102 - importing executes code by definition
        else:
            self._inner.exec_module(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)  # get_source for tracebacks, resources, ...


@frozen
class _Top:
    """State of a generation's top package: builtins of its modules, owner, may bytecode be used?"""

    builtins: Mapping[str, Any]
    owner: str
    afresh: bool


class _Finder(MetaPathFinder):
    """Finder of the modules below a generation's top package."""

    def __init__(self) -> None:
        self.tops: dict[str, _Top] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if path is None or fullname.partition(".")[0] not in self.tops:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


_FINDER: Final = _Finder()
