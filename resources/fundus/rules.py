"""Versions of Fundus' rules: what must change before a page is extracted, or crawled, anew.

Belongs here: the two hashes of a publisher. Does not belong here: deciding what to rebuild (Dagster does,
from the data versions observed).
"""

import ast
import hashlib
import importlib
import inspect

from resources.fundus.catalogue import Catalogue
from resources.fundus.definitions import digest_of


def rules_version(catalogue: Catalogue, key: str) -> str:
    """A hash of everything that a publisher's extraction is made of.

    The definition of its parser and all that it uses in its own package and in Fundus, as syntax trees without
    comments and docstrings: a new release that changes no rule of the publisher changes no version.
    """
    parser = type(catalogue[key].parser)
    definition = (parser.__module__, parser.__qualname__.partition(".")[0])
    return digest_of([definition], packages=frozenset({"fundus", parser.__module__.partition(".")[0]}))


def sources_version(catalogue: Catalogue, key: str) -> str:
    """A hash of a publisher's declaration: domain, feeds, sitemaps and URL filters. Only crawls depend on it."""
    group = catalogue[key].__group__
    tree = ast.parse(inspect.getsource(importlib.import_module(group.__module__)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(
            getattr(target, "id", None) == key for target in node.targets
        ):
            return hashlib.sha256(ast.dump(node.value).encode()).hexdigest()[:16]
    raise RuntimeError(
        f"the declaration of publisher {key!r} was expected in {group.__module__} as `{key} = Publisher(…)` "
        f"and is not there; this Fundus release is laid out differently, adapt `sources_version`"
    )
