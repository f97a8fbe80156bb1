"""Absolute imports of a package's own modules, compiled as relative ones.

A relative import starts from the package of the module that performs it. So modules that are
imported under a private name find one another, at any time, and never those of the public name:

    from echo.words import WORD      from ..words import WORD
    import echo.words as words       from .. import words
    import echo.words                echo = <the package>, after its module `words` is imported

The code does not depend on the private name, so its bytecode can be kept. Not compiled in this way:
`importlib.import_module` with a public name, and `import company.echo` without `as` for a package
inside a namespace package, whose first name is not the plugin's. Both give the public module.
"""

import ast
from collections.abc import Iterable, Iterator
from types import CodeType
from typing import Final

from trio_kafka.attributes import frozen

# Fields of a node that hold statements, or what holds statements.
_BLOCKS: Final = ("body", "orelse", "finalbody", "handlers", "cases")


def compile_relative(
    source: bytes, path: str, *, package: str, module_package: str, optimize: int = -1
) -> CodeType:
    """Compile the source of a module of `package`, with its own imports made relative.

    package: public name. module_package: `__package__` of the module, private or public; only the
    number of its parts counts. Empty: the module is no package's, and its imports stay as they are.
    Raises SyntaxError.
    """
    tree = ast.parse(source, path)
    if module_package:
        OwnImports(package, module_package.count(".") + 1).make_relative(tree)
    return compile(tree, path, "exec", dont_inherit=True, optimize=optimize)


@frozen
class OwnImports:
    """Imports of one module from its own package. levels: dots that lead from it to the package."""

    _package: str
    _levels: int

    def make_relative(self, tree: ast.AST) -> None:
        """Make the imports of a module relative, in place.

        Only statements are looked at: `ast.NodeTransformer` would visit every expression.
        """
        for field in _BLOCKS:
            block = getattr(tree, field, None)
            if isinstance(block, list):
                block[:] = [new for node in block for new in self._statements(node)]

    def _statements(self, node: ast.AST) -> Iterator[ast.AST]:
        match node:
            case ast.ImportFrom(level=0, module=str(module)) if self._is_own(module):
                yield _placed(self._from(self._below(module), node.names), node)
            case ast.Import() if any(self._is_own(alias.name) for alias in node.names):
                for alias in node.names:
                    own = self._is_own(alias.name)
                    for statement in self._import(alias) if own else [ast.Import([alias])]:
                        yield _placed(statement, node)
            case _:
                self.make_relative(node)
                yield node

    def _is_own(self, name: str) -> bool:
        return name == self._package or name.startswith(f"{self._package}.")

    def _below(self, name: str) -> str:
        """Return the part of a module's name below the package; empty for the package itself."""
        return name[len(self._package) + 1 :]

    def _import(self, alias: ast.alias) -> Iterator[ast.stmt]:
        below = self._below(alias.name)
        if alias.asname is not None and below:
            parent, _, name = below.rpartition(".")
            yield self._from(parent, [ast.alias(name, alias.asname)])
        elif alias.asname is None and "." in self._package:
            yield ast.Import([alias])
        else:
            if below:
                yield ast.Expr(self._call(below))
            target = ast.Name(alias.asname or self._package, ast.Store())
            yield ast.Assign([target], self._call(""))

    def _from(self, module: str, names: Iterable[ast.alias]) -> ast.ImportFrom:
        return ast.ImportFrom(module or None, list(names), self._levels)

    def _call(self, below: str) -> ast.expr:
        """Return an expression that imports a module; its value for "" is the package.

        No import statement binds the package under another name.
        """
        text = f"__import__({below!r}, globals(), None, (), {self._levels})"
        return ast.parse(text, mode="eval").body


def _placed(statement: ast.stmt, node: ast.stmt) -> ast.stmt:
    """Give a new statement the place of the one that it replaces."""
    return ast.fix_missing_locations(ast.copy_location(statement, node))
