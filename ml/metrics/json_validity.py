"""JSON validity: whether an output is one strict JSON object (RFC 8259).

Belongs here: the grammar, with what Python's reader lets pass turned down. Does not belong here: whether the
object is an article (`schema_validity.py`), or whether it is the right one (`fields.py`).
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import NoReturn


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has a key twice")
    return found


@lru_cache(maxsize=64)
def read(text: str) -> Mapping[str, object] | None:
    """The object, all numbers as floats; None if the text is no JSON object, or has NaN or a key twice."""
    try:
        # Python refuses integers of more than 4,300 digits, JSON does not.
        value: object = json.loads(
            text, parse_constant=_reject_constant, parse_int=float, object_pairs_hook=_unique_keys
        )
    except (ValueError, RecursionError):  # thousands of open brackets: a language model that repeats itself
        return None
    return value if isinstance(value, dict) else None


def score(prediction: str, reference: str = "") -> float:
    """1 if the text is a JSON object without NaN, Infinity or a repeated key, else 0; needs no reference."""
    return float(read(prediction) is not None)
