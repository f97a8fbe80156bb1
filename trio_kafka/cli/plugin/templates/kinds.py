"""Kinds of new plugins, and the files of a package of each kind."""

from collections.abc import Mapping
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.cli.plugin.templates import api, app, interceptor, page, task
from trio_kafka.cli.plugin.templates.package import PYPROJECT, README


@frozen(kw_only=True)
class Template:
    """Kind of a new plugin. The texts have @NAME@, @MODULE@, @CLASS@, @KEY@ and @PAGE@ in them.

    about: sentence of its README. settings: rows of the README's table. module, tests: Python.
    """

    about: str
    settings: str
    module: str
    tests: str

    @property
    def files(self) -> Mapping[str, str]:
        """Texts by path; `MODULE` in a path is the name of the module."""
        readme = README.replace("@ABOUT@", self.about).replace("@SETTINGS@", self.settings)
        return {
            "pyproject.toml": PYPROJECT,
            "README.md": readme,
            "MODULE.py": self.module,
            "tests/test_MODULE.py": self.tests,
        }


KINDS: Final[Mapping[str, Template]] = {
    kind.__name__.rpartition(".")[2]: Template(
        about=kind.ABOUT, settings=kind.SETTINGS, module=kind.MODULE, tests=kind.TESTS
    )
    for kind in (api, interceptor, task, app, page)
}
