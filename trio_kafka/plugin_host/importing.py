"""A plugin's package, imported once more under a private name: `echo_api` as `echo_api@3`.

Every generation of a plugin has modules of its own, found where the package is, and known to
`sys.modules` only under their private names, so that old and new stand beside each other and the
old ones die with their generation. Absolute imports of the package inside of it, at whatever time,
give the generation's own modules: `__import__` is replaced in the builtins that they see.
`importlib.import_module` with the public name is not: it gives the public module.
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
_DOT: Final = ":"  # in the name of a package that lies in a namespace
_NUMBERS: Final = count(1)  # of this process: two brokers in it share no module


def private_name(package: str, number: int) -> str:
    """Of a package's first module in a generation: one part, also for `company.echo`."""
    return f"{package.replace('.', _DOT)}{_MARK}{number}"


@define(eq=False)
class Imported:
    """The modules of a generation. top: the private name of the first; users: plugins of it that
    have not ended.
    """

    top: str
    users: int = 1

    def release(self) -> None:
        """One user less. After the last one they are known to nobody, and die when they are not
        used any more.
        """
        self.users -= 1
        if not self.users:
            _forget(self.top)

    def has(self, module: str) -> bool:
        """Whether a module is one of them."""
        return module == self.top or module.startswith(f"{self.top}.")


def import_generation(
    module: str, *, owner: str = "", afresh: bool = False
) -> tuple[ModuleType, Imported]:
    """Import a module of a package, and what of the package it imports, as a generation.

    owner: the plugin's name, for `owner_of`.
    afresh: from its source, which may have changed within the second that bytecode is known by.
    Raises ImportError, and whatever the module raises; nothing of it stays then.
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
    """The owner that a generation's module was imported for, also while the import goes on.

    module: the name that its frames know it by. May be called in any thread.
    """
    top = _FINDER.tops.get(module.partition(".")[0])
    return top.owner or None if top is not None else None


def _forget(top: str) -> None:
    # Others may import meanwhile, in threads: a list is made at once.
    for name in [name for name in list(sys.modules) if name == top or name.startswith(f"{top}.")]:
        del sys.modules[name]
    _FINDER.tops.pop(top, None)
    for file in [file for file in list(linecache.cache) if f"{top}." in file]:
        linecache.cache.pop(file, None)  # attrs' generated methods
    # typing keeps what it has made of a class, such as Final[list[Thing]], and the class with it.
    for forget in getattr(typing, "_cleanups", ()):
        forget()


def _find_package(module: str) -> tuple[str, ModuleSpec]:
    """The first part of a dotted name that is more than a namespace, and where it is."""
    importlib.invalidate_caches()
    parts = module.split(".")
    for length in range(1, len(parts) + 1):
        name = ".".join(parts[:length])
        spec = find_spec(name)
        if spec is None:
            break
        if spec.origin is not None:
            return name, spec
    raise ModuleNotFoundError(f"no module named {module!r} that can be imported again")


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
    """Python's builtins, but for an `import` that finds the generation's modules."""

    def import_(
        name: str,
        globals: Any = None,  # noqa: A002 - as `__import__` has it
        locals: Any = None,  # noqa: A002
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> ModuleType:
        if not level and (name == public or name.startswith(f"{public}.")):
            name = private + name[len(public) :]
        return builtins.__import__(name, globals, locals, fromlist, level)

    return {**vars(builtins), "__import__": import_}


class _Loader(Loader):
    """Another loader, whose modules see the builtins of their generation."""

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
            exec(code, module.__dict__)  # noqa: S102 - what importing is
        else:
            self._inner.exec_module(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)  # get_source for tracebacks, resources, ...


@frozen
class _Top:
    """What a generation's modules see as builtins, whose they are, whether bytecode may be used."""

    builtins: Mapping[str, Any]
    owner: str
    afresh: bool


class _Finder(MetaPathFinder):
    """Finds the modules below a generation's top."""

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
