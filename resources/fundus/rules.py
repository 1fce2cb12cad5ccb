"""Versions of Fundus' rules: what must change before a page is extracted, or crawled, anew.

Belongs here: the two hashes of a publisher. Does not belong here: deciding what to rebuild (Dagster does,
from the data versions observed).
"""

import ast
import hashlib
import importlib
import inspect
from functools import cache

from resources.fundus.catalogue import Catalogue, parser_modules

SHARED_PARSER_MODULES = ("fundus.parser.base_parser", "fundus.parser.data", "fundus.parser.utility")


def rules_version(catalogue: Catalogue, key: str) -> str:
    """A hash of everything that a publisher's extraction is made of.

    Its parser's modules along their bases and Fundus' shared parser modules, as syntax trees without
    comments and docstrings: a new release that changes no rule changes no version.
    """
    modules = [*parser_modules(catalogue[key]), *SHARED_PARSER_MODULES]
    return _digest(*(_module_tree(name) for name in modules))


def sources_version(catalogue: Catalogue, key: str) -> str:
    """A hash of a publisher's declaration: domain, feeds, sitemaps and URL filters. Only crawls depend on it."""
    group = catalogue[key].__group__
    tree = ast.parse(inspect.getsource(importlib.import_module(group.__module__)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(
            getattr(target, "id", None) == key for target in node.targets
        ):
            return _digest(ast.dump(node.value))
    raise RuntimeError(
        f"the declaration of publisher {key!r} was expected in {group.__module__} as `{key} = Publisher(…)` "
        f"and is not there; this Fundus release is laid out differently, adapt `sources_version`"
    )


@cache
def _module_tree(name: str) -> str:
    """A module's syntax tree as text, without docstrings and positions."""
    tree = ast.parse(inspect.getsource(importlib.import_module(name)))
    for node in ast.walk(tree):
        if isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ) and _has_docstring(node):
            node.body = node.body[1:]
    return ast.dump(tree)


def _has_docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return ast.get_docstring(node, clean=False) is not None


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
