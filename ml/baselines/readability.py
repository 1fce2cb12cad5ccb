"""readability-lxml, the Python port of arc90's Readability: elements scored by classes, commas and lengths."""

import re
from typing import ClassVar

from ml.baselines.base import Baseline
from ml.baselines.extraction import Extraction, ExtractionFailedError
from ml.taming import tag_set

# What a browser shows on lines of its own.
_LINES = tag_set(
    "address article aside blockquote body br caption center dd details dialog div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hr legend li main nav ol p pre section summary table tbody td tfoot th "
    "thead tr ul"
)
_SPACE = re.compile(r"\s+")


class Readability(Baseline):
    """Its summary, which is HTML, as text, and its cleaned-up title."""

    name: ClassVar[str] = "readability"
    package: ClassVar[str] = "readability"
    distribution: ClassVar[str] = "readability-lxml"
    gives: ClassVar[frozenset[str]] = frozenset({"title"})

    def extract(self, html: str, url: str) -> Extraction:
        """The text of the summary, one paragraph a line, and the title without the name of the site."""
        from readability.readability import Document, Unparseable

        document = Document(html)
        try:
            summary = document.summary()
        except Unparseable as error:
            raise ExtractionFailedError(f"readability could not parse the page: {error}") from error
        return Extraction(text=_text(summary), title=document.short_title())


def _text(html: str) -> str:
    """The text of an HTML document, line by line as a browser would break it."""
    from lxml import etree
    from lxml.html import document_fromstring

    parts = []
    for event, node in etree.iterwalk(document_fromstring(html), events=("start", "end", "comment", "pi")):
        if event in ("start", "end") and node.tag in _LINES:
            parts.append("\n")
        parts.append(_SPACE.sub(" ", (node.text if event == "start" else node.tail) or ""))
    lines = (_SPACE.sub(" ", line).strip() for line in "".join(parts).split("\n"))
    return "\n".join(filter(None, lines))
