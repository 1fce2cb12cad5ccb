"""What a piece of Python is made of: its own definition and, through every module of its package, those it uses.

Belongs here: from a class to a digest of all source text that it depends on, read as syntax trees, so that comments,
docstrings and layout do not count. Does not belong here: which classes a publisher's rules are (`rules.py`).

A name is followed to where it is defined if that is in one of the packages asked for; of other packages, such as lxml,
only the import counts. Over-inclusion is harmless (a page is extracted once more and comes out the same): a local
variable that is called like something of its module counts as that, and a class counts as a whole.
"""

import ast
import hashlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

Name = tuple[str, str]
"""A module and a name at its top level; an empty name is all of the module."""


def digest_of(definitions: Iterable[Name], *, packages: frozenset[str]) -> str:
    """A hash, 16 hexadecimal digits, of the definitions and of all they use in `packages`, whatever these are called.

    Raises `LookupError` for a definition that its module does not have.
    """
    texts: set[str] = set()
    waiting, seen = list(definitions), set[Name]()
    while waiting:
        module, name = waiting.pop()
        if (module, name) not in seen:
            seen.add((module, name))
            definition = _definition(module, name, packages)
            texts.update(definition.texts)
            waiting.extend(definition.uses)
    return hashlib.sha256("\0".join(sorted(texts)).encode()).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True)
class _Definition:
    texts: tuple[str, ...]
    uses: tuple[Name, ...]


@cache
def _definition(module: str, name: str, packages: frozenset[str]) -> _Definition:
    parts = _module(module)
    if not name:
        return _Definition(texts=(), uses=tuple((module, each) for each in parts))
    if name not in parts:
        raise LookupError(
            f"{module} was expected to define {name!r} and does not; its source is laid out differently than "
            f"`resources/fundus/definitions.py` can follow"
        )
    texts, uses = [], list[Name]()
    for statement in parts[name]:
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            texts.append(ast.dump(statement))
            uses.extend((module, used) for used in _names_used(statement) if used in parts)
        elif (origin := _origin(statement, name, module))[0].partition(".")[0] in packages:
            uses.append(origin)
        else:
            texts.append(".".join(origin))
    return _Definition(texts=tuple(texts), uses=tuple(uses))


@cache
def _module(name: str) -> dict[str, list[ast.stmt]]:
    """The top-level statements of a module by the names that they bind, without docstrings."""
    tree = _without_docstrings(ast.parse(inspect.getsource(importlib.import_module(name))))
    parts: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        for bound in _names_bound(statement):
            parts.setdefault(bound, []).append(statement)
    return parts


_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return tree


def _names_bound(statement: ast.stmt) -> Iterator[str]:
    """Of `if` and `try` at the top level, everything that any branch binds."""
    match statement:
        case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
            yield statement.name
        case ast.Import() | ast.ImportFrom():
            yield from map(_bound_by, statement.names)
        case _:
            for node in ast.walk(statement):
                match node:
                    case ast.Name(ctx=ast.Store()):
                        yield node.id
                    case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                        yield node.name
                    case ast.alias():
                        yield _bound_by(node)


def _bound_by(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _names_used(statement: ast.stmt) -> set[str]:
    return {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def _origin(statement: ast.Import | ast.ImportFrom, name: str, module: str) -> Name:
    """Where an imported name comes from."""
    alias = next(alias for alias in statement.names if _bound_by(alias) == name)
    if isinstance(statement, ast.Import):
        return alias.name, ""
    package = importlib.import_module(module).__package__
    source = importlib.util.resolve_name("." * statement.level + (statement.module or ""), package)
    is_module = f"{source}.{alias.name}" in sys.modules  # imported when `module` was
    return (f"{source}.{alias.name}", "") if is_module else (source, alias.name)
