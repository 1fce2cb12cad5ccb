"""Texts as they are compared here: what reads the same is the same.

Belongs here: the form in which values are matched with each other and with the page. Does not belong here:
the form in which they are given out, which is always the page's own.
"""

import re
from functools import lru_cache

from ml.metrics.tokens import normalise

_STYLE = dict.fromkeys("‘’‚‛′ʼ`‹›", "'") | dict.fromkeys("“”„‟″«»", '"') | dict.fromkeys("‐‑‒–—―−", "-")
_STYLED = re.compile(f"[{''.join(_STYLE)}]")  # few characters of a text: `str.translate` asks for every one


@lru_cache(maxsize=4096)  # the same values are compared with one another again and again
def folded(text: str) -> str:
    """The text without case, typographic variants, invisible characters and spaces to spare."""
    return " ".join(normalise(_STYLED.sub(_plain, text)).split())


def _plain(found: re.Match[str]) -> str:
    return _STYLE[found[0]]
