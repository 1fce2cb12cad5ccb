"""Fields as the paper's public code counts them: keys with an equal value, too many, and missed.

Belongs here: its reader, its counts and their quirks. Does not belong here: precision, recall and F1, which it
takes over the counts of all valid outputs together, or our own counts (`fields.py`).

Its targets are Python literals and its reader is `ast.literal_eval`; ours are JSON, so the one adaptation is
that JSON is read too, and `true`, `false` and `null` within a literal.
"""

import ast
import json
import warnings
from collections import defaultdict
from collections.abc import Mapping, Set
from functools import lru_cache
from typing import NoReturn

_JSON_NAMES = {"true": True, "false": False, "null": None}

# Whatever a hostile text makes Python's own readers raise: nesting, size, NULs, lone surrogates, lists as keys.
_UNREADABLE = (ValueError, TypeError, SyntaxError, MemoryError, RecursionError)


def is_valid(prediction: str) -> float:
    """1 if the reader accepts the output, whatever it holds, else 0; an output of nothing but `null` is 0."""
    return float(_read(prediction) is not None)


def counts(prediction: str, reference: str) -> tuple[int, int, int] | None:
    """True positives, false positives and false negatives; None for an output that the reader refuses.

    An output that is no object, at which the code would fail, misses every key. Raises `ValueError` if the
    reference is no object.
    """
    found, wanted = _read(prediction), _read(reference)
    if not isinstance(wanted, dict):
        raise ValueError(f"found {reference[:60]!r} as a reference, expected a JSON object")
    if found is None:
        return None
    return _count_keys(found if isinstance(found, dict) else {}, wanted)


def _count_keys(found: Mapping[object, object], wanted: Mapping[object, object]) -> tuple[int, int, int]:
    right, extra, missed = 0, len(found.keys() - wanted.keys()), len(wanted.keys() - found.keys())
    for key in found.keys() & wanted.keys():
        if key == "body":
            more, less = _count_paths(found[key], wanted[key])
            extra, missed = extra + more, missed + less
        elif _equal(found[key], wanted[key]):
            right += 1
        else:
            extra, missed = extra + 1, missed + 1
    return right, extra, missed


def _equal(found: object, wanted: object) -> bool:
    """Of one type, and lists as sets."""
    if type(found) is not type(wanted):
        return False
    if isinstance(found, list) and isinstance(wanted, list):
        try:
            return set(found) == set(wanted)
        except TypeError:  # lists of lists or objects, at which the code would fail
            return found == wanted
    return found == wanted


def _count_paths(found: object, wanted: object) -> tuple[int, int]:
    """False positives and negatives of a body: its nested keys and their types alone, never a true positive."""
    has, needs = _types_by_path(found), _types_by_path(wanted)
    differing = sum(has[path] != needs[path] for path in has.keys() & needs.keys())
    return len(has.keys() - needs.keys()) + differing, len(needs.keys() - has.keys()) + differing


def _types_by_path(value: object) -> Mapping[str, Set[type]]:
    """Types of the values under each key, all items of a list under the list's own path."""
    types: defaultdict[str, set[type]] = defaultdict(set)
    open_ = [("", value)]
    while open_:
        prefix, value = open_.pop()
        if isinstance(value, dict):
            for key, inner in value.items():
                path = f"{prefix}.{key}" if prefix else str(key)
                types[path].add(type(inner))
                open_.append((path, inner))
        elif isinstance(value, list):
            open_.extend((prefix, inner) for inner in value)
    return types


@lru_cache(maxsize=64)
def _read(text: str) -> object:
    """The value of a JSON text or a Python literal; None if it is neither, or null."""
    try:
        return json.loads(text, parse_constant=_reject_constant)
    except _UNREADABLE:
        return _read_literal(text)


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is neither JSON nor a literal")


def _read_literal(text: str) -> object:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes that Python may drop one day
            return ast.literal_eval(_JsonNames().visit(ast.parse(text.lstrip(" \t"), mode="eval")))
    except _UNREADABLE:
        return None


class _JsonNames(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(_JSON_NAMES[node.id]) if node.id in _JSON_NAMES else node
