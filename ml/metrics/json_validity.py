"""JSON validity: whether an output is one strict JSON object (RFC 8259).

Belongs here: the grammar, with what Python's reader lets pass turned down. Does not belong here: whether the
object is an article (`schema_validity.py`), or whether it is the right one.
"""

import json
from typing import NoReturn


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has a key twice")
    return found


def score(prediction: str, reference: str = "") -> float:
    """1 if the text is a JSON object without NaN, Infinity or a repeated key, else 0; needs no reference."""
    try:
        # Numbers stay text: Python refuses integers of more than 4,300 digits, JSON does not.
        value: object = json.loads(
            prediction, parse_constant=_reject_constant, parse_int=str, object_pairs_hook=_unique_keys
        )
    except (ValueError, RecursionError):  # thousands of open brackets: a language model that repeats itself
        return 0.0
    return float(isinstance(value, dict))
